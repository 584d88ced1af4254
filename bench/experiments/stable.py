# SPDX-License-Identifier: LGPL-3.0-or-later
"""stable: what the file system of the export and the place of its log make of close(), which in NFS waits for stable storage.

Each client has 8 threads that create files of 16 KB, as a copy, an unpacking or a compiler does: no fsync, but NFS makes one of
every close(). What is still there after a power cut is the experiment powercut.

stock            kernel and Ganesha defaults
canfs            with agents
commit-metadata  CANFS with Commit_Metadata, without agents

files_per_s  of all clients
close_p50, close_p99  of the slowest client
flushes      of the disk, per second; each of them is a turn of the platter and more, which nobody else has
"""

from dataclasses import dataclass, replace

from bench.experiments import canfs
from bench.experiments.figure import AskedResults
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.rounds import chosen, run_rounds
from bench.jobs import small_files
from bench.lab.client import launch
from bench.lab.disk import FILESYSTEMS
from bench.lab.lab import Guest

NAME = "stable"
HELP = "close() of small files: file systems, and where their log is"
DISK_OPTIONS_REFUSED = ("filesystem", "backend")  # the cases are file systems
RUNS = 3
VARIANTS = {"stock": None, "canfs": {}, "commit-metadata": {"Commit_Metadata": "true"}}  # of the CANFS block
CLIENTS = (1, 8)
CASES = {f"{filesystem}-clients-{clients}": (filesystem, clients) for filesystem in FILESYSTEMS for clients in CLIENTS}
GUEST_MIB = 256
THREADS = 8
SECONDS, QUICK_SECONDS = 20, 5
TIMEOUT_SECONDS = 60
UNITS = {"files_per_s": "1/s", "close_p50": "ms", "close_p99": "ms", "flushes": "1/s"}


@dataclass
class Trial:
    case: str
    variant: str
    said: list   # what the job of each client printed
    disk: dict
    values: dict

    def __str__(self):
        return ", ".join(f"{metric} {value:.3g}" for metric, value in self.values.items())


def values_of(said, disk):
    seconds = max(one["seconds"] for one in said)
    return {"files_per_s": sum(one["files"] for one in said) / seconds,
            "close_p50": max(one["close_p50_ms"] for one in said), "close_p99": max(one["close_p99_ms"] for one in said),
            "flushes": disk["flushes"] / seconds}


def run_trial(lab, case, variant, options):
    filesystem, count = CASES[case]
    try:
        lab.disk.settings = replace(options.disk, filesystem=filesystem)
        lab.disk.make_file_system()
        canfs.start_server(lab, VARIANTS[variant] is not None, options, VARIANTS[variant])
        clients = lab.start_clients([Guest(f"c{number}", GUEST_MIB) for number in range(count)])
        agents = canfs.start_agents(lab, clients, options.agent) if variant == "canfs" else []
        jobs = [client.prepare("create", small_files.__file__, "create", lab.on_mount(client.name), THREADS,
                               QUICK_SECONDS if options.quick else SECONDS) for client in clients]
        lab.disk.cold()
        launch(jobs)
        said = [job.result(TIMEOUT_SECONDS) for job in jobs]
        disk = lab.disk.stat()
        canfs.stop_agents(agents)
        return Trial(case, variant, said, disk, values_of(said, disk))
    finally:
        lab.end_trial()


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases = chosen("case", options.cases, CASES)
    variants = chosen("variant", options.variants, VARIANTS)
    return run_rounds(build, options, cases, variants, lambda lab, _, case, variant: run_trial(lab, case, variant, options),
                      AskedResults(NAME, options, UNITS), say, keep)
