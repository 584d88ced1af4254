# SPDX-License-Identifier: LGPL-3.0-or-later
"""Readers that are processes, and read as a kernel lets them: of a client, or of the server itself."""

import json

from bench.experiments.reading_files import MIB
from bench.lab.host import LabError, run as run_command

TIMEOUT_SECONDS = 200
# Each file by a job of its own, all since one moment. One after the other they get going.
EACH_BY_A_JOB = """
begin=$EPOCHREALTIME
for file in "${@:4}"; do
	(
		result=$("$1" --sequential --block-kib "$2" --ops "$3" --phases 0-3600 "$file") || exit
		echo "{\\"begin\\": $begin, \\"end\\": $EPOCHREALTIME, \\"job\\": $result}"
	) &
done
wait
"""


def read_in_guest(lab, client, readers, mib, names):
    """What they printed, as canfs-job-pattern prints it."""
    for number in range(readers.busy):
        client.run(f"busy-{number}", "sh", "-c", "while :; do :; done")
    job = client.run("read", *each_by_a_job(lab, readers, mib, map(lab.on_mount, names)))
    return merged(results_of(job.wait(TIMEOUT_SECONDS), len(names)), mib * MIB)


def read_locally(lab, readers, mib, names):
    said = run_command(*each_by_a_job(lab, readers, mib, (lab.disk.mount / name for name in names)), timeout=TIMEOUT_SECONDS)
    return merged(results_of(said, len(names)), mib * MIB)


def each_by_a_job(lab, readers, mib, paths):
    """One canfs-job-read per file."""
    return ("bash", "-c", EACH_BY_A_JOB, "bash", lab.program("canfs-job-read"), readers.block_kib, mib * 1024 // readers.block_kib, *paths)


def results_of(said, files):
    results = [json.loads(line) for line in said.splitlines()]
    if len(results) != files:
        raise LabError(f"only {len(results)} of {files} readers came to the end")
    return results


def merged(results, bytes_each):
    """Latencies are the worst reader's."""
    finishes = [result["end"] - result["begin"] for result in results]
    total = bytes_each * len(results)
    return {"readers": [{"bytes": bytes_each, "finish_seconds": finish} for finish in finishes], "bytes": total,
            "first_seconds": min(finishes), "last_seconds": max(finishes), "mb_per_s": total / 1e6 / max(finishes),
            **{key: max(result["job"][key] for result in results) for key in ("p50_ms", "p99_ms", "max_ms")}}
