# SPDX-License-Identifier: LGPL-3.0-or-later
"""fetch: what it costs to hand a fetch to the kernel and to learn that it is done: by io_uring and by threads, in turn, of a
file in a file system in memory, which is no disk to wait for. Processor time is all of the machine's: it is to be quiet."""

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from bench.experiments.options import Options, check_names
from bench.lab.host import LabError, run as run_command
from bench.lab.report import Results

NAME = "fetch"
HELP = "what io_uring and threads take of the processors to fetch 4 KiB to 1 MiB"
DISK_OPTIONS_REFUSED = ("device", "scheduler", "filesystem", "backend")
CASES = {"4k": 4, "32k": 32, "64k": 64, "1m": 1024}
VARIANTS = ("io_uring", "threads")
FILE_MIB, QUICK_FILE_MIB = 2048, 1024
METRICS = (("per_sec", "1/s"), ("cpu_usec", "us"), ("switches", "1"), ("p99_usec", "us"))


def what_is_missing():
    """Why it cannot run here."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("mkfs.ext4"):
        return "mkfs.ext4 is not installed"
    pages, page_bytes = os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return None if pages * page_bytes > 3 * FILE_MIB << 20 else f"needs {3 * FILE_MIB >> 10} GiB of free memory"


@contextlib.contextmanager
def file_in_memory(mib):
    with contextlib.ExitStack() as cleanup:
        directory = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="canfs-fetch-")))
        memory, mount = directory / "memory", directory / "mount"
        for path in (memory, mount):
            path.mkdir()
        run_command("mount", "-t", "tmpfs", "-o", f"size={mib * 5 // 4}m", "none", memory)
        cleanup.callback(run_command, "umount", "--lazy", memory)  # the loop device goes a little later
        image = memory / "image"
        with open(image, "wb") as file:
            file.truncate(mib * 9 // 8 << 20)
        run_command("mkfs.ext4", "-q", image)
        run_command("mount", "-o", "loop", image, mount)
        cleanup.callback(run_command, "umount", mount)
        file = mount / "file"
        run_command("dd", "if=/dev/zero", f"of={file}", "bs=1M", f"count={mib}", "conv=fsync", timeout=300)
        yield file


def run(build, options, say, keep=None):
    program = Path(build).resolve() / "bench" / "canfs-micro-fetch"
    if not program.exists():
        raise LabError(f"{program} is not built")
    check_names("case", options.cases, CASES)
    check_names("variant", options.variants, VARIANTS)
    results = Results(NAME)
    with file_in_memory(QUICK_FILE_MIB if options.quick else FILE_MIB) as file:
        for i in range(options.runs):
            say(f"run {i + 1} of {options.runs}")
            for case, kib in CASES.items():
                for variant in VARIANTS:
                    if case not in (options.cases or CASES) or variant not in (options.variants or VARIANTS):
                        continue
                    Path("/proc/sys/vm/drop_caches").write_text("1", encoding="ascii")
                    seen = json.loads(run_command(program, file, variant, kib, 1))
                    for metric, unit in METRICS:
                        results.add(case, "memory", variant, metric, unit, seen[metric])
    return results
