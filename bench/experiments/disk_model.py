# SPDX-License-Identifier: LGPL-3.0-or-later
"""disk-model: is the modelled disk, through the loop device and as fio sees it, the disk that it is meant to
be? What is expected is what the parameters in bench/README.md amount to; the path from fio to the model and
back (loop device, FUSE, two wake-ups) takes PATH_USEC more, which only one outstanding command notices.

A device of another time scale is the same model: -x4 four times as fast, -x0.1 a tenth. What it does is
reckoned in model time, so that the numbers must be the same; slowed down, the solid-state disk is hardly
a matter of this machine's processors."""

import contextlib
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.experiments.options import Options
from bench.lab.disk import Disk, DiskSettings
from bench.lab.host import LabError, run as run_command
from bench.lab.lab import DISK_MIB, what_cannot_be_installed
from bench.lab.report import Results
from bench.lab.sweep import PREFIX, sweep

NAME = "disk-model"
HELP = "the modelled disks through the loop device, against what is expected of them"
DISK_OPTIONS_REFUSED = ("device", "filesystem", "backend")
VARIANT = "alone"
PATH_USEC = 100
SECONDS, SECONDS_QUICK = 4, 2.5
FIO_TIMEOUT_SECONDS = 60
STATISTICS = ("depth_mean", "reordered", "seeks", "lookahead_hits", "busy_seconds", "late_mean_usec")

OPS, MB = "ops_per_s", "throughput"
UNITS = {OPS: "1/s", MB: "MB/s"}
RANDOM = ("--bs=4k", "--norandommap")
SEQUENTIAL = ("--rw=read", "--bs=128k")
TWO = ("--numjobs=2", "--offset_increment=8g")
CASES = {  # name: what is measured, arguments of fio
    "random-4k-depth-1": (OPS, "--rw=randread", *RANDOM, "--iodepth=1"),
    "random-4k-depth-32": (OPS, "--rw=randread", *RANDOM, "--iodepth=32"),
    "sequential-outer": (MB, *SEQUENTIAL, "--iodepth=8"),
    "sequential-inner": (MB, *SEQUENTIAL, "--iodepth=8", "--offset=30g"),
    # Without tags not deeper: whether the streams' commands then come by fours or by turns, and stay so, is chance.
    "two-streams": (MB, *SEQUENTIAL, *TWO, "--iodepth=1"),
    "two-streams-depth-8": (MB, *SEQUENTIAL, *TWO, "--iodepth=8"),
    "sequential-1m": (MB, "--rw=read", "--bs=1m", "--iodepth=4"),
    "write-4k-depth-1": (OPS, "--rw=randwrite", *RANDOM, "--iodepth=1"),
    "write-4k-depth-32": (OPS, "--rw=randwrite", *RANDOM, "--iodepth=32"),
    "write-4k-flush": (OPS, "--rw=randwrite", *RANDOM, "--iodepth=1", "--fsync=1"),
    "write-1m": (MB, "--rw=write", "--bs=1m", "--iodepth=4"),
}


@dataclass(frozen=True)
class Expected:
    device: str  # one of DEVICES of bench/lab/disk.py; with -xSCALE another time scale
    case: str
    value: float
    tolerance: float  # a share of it

    def kind(self):
        return self.device.partition("-x")[0]

    def scale(self):
        return float(self.device.partition("-x")[2] or 1)

    def metric(self):
        return CASES[self.case][0]


def serial(model_usec, paths=1, scale=1):
    """Commands a second of which one is outstanding."""
    return 1e6 / (model_usec + paths * PATH_USEC * scale)


# 0.1 ms, a mean seek of 6.5 ms, half a revolution of 8.3 ms
HDD_RANDOM_USEC = 10_850
# 10 us and 4 KiB at 530 MB/s in the controller, then flash 80 us or the cache 20 us
SSD_READ_USEC, SSD_WRITE_USEC = 98, 38
# 29 us of flash for the 4 KiB, and the tables
SSD_FLUSH_USEC = 10 + 29 + 500
# Much of it is the processors' time, and other work on the machine shows.
BY_PROCESSOR = 0.25
EXPECTED = (
    Expected("hdd", "random-4k-depth-1", serial(HDD_RANDOM_USEC), 0.08),
    Expected("hdd", "random-4k-depth-32", 92, 0.06),
    Expected("hdd", "sequential-outer", 179, 0.04),
    Expected("hdd", "sequential-inner", 90, 0.04),
    # a seek and three quarters of a revolution for 128 KiB
    Expected("hdd", "two-streams", 12, 0.08),
    # what the cache takes at first included
    Expected("hdd", "write-1m", 183, 0.06),
    # the cache never holds more than one: each write is a seek and half a revolution
    Expected("hdd", "write-4k-flush", serial(HDD_RANDOM_USEC, paths=2), 0.1),
    Expected("hdd-ncq", "random-4k-depth-1", serial(HDD_RANDOM_USEC), 0.08),
    Expected("hdd-ncq", "random-4k-depth-32", 222, 0.08),
    Expected("hdd-ncq", "sequential-outer", 179, 0.04),
    Expected("hdd-ncq", "sequential-inner", 90, 0.04),
    Expected("hdd-ncq", "two-streams", 12, 0.08),
    # it stays with one stream until the other is too old
    Expected("hdd-ncq", "two-streams-depth-8", 166, 0.08),
    Expected("ssd", "random-4k-depth-1", serial(SSD_READ_USEC), BY_PROCESSOR),
    Expected("ssd", "random-4k-depth-32", 56_400, BY_PROCESSOR),
    Expected("ssd", "sequential-outer", 510, 0.1),
    Expected("ssd", "sequential-inner", 510, 0.1),
    Expected("ssd", "two-streams", 510, BY_PROCESSOR),
    Expected("ssd", "sequential-1m", 527, 0.06),
    Expected("ssd", "write-4k-depth-1", serial(SSD_WRITE_USEC), BY_PROCESSOR),
    Expected("ssd", "write-4k-depth-32", 34_400, BY_PROCESSOR),
    Expected("ssd", "write-4k-flush", serial(SSD_WRITE_USEC + SSD_FLUSH_USEC, paths=2), BY_PROCESSOR),
    Expected("ssd", "write-1m", 446, 0.06),
    Expected("hdd-x4", "random-4k-depth-1", serial(HDD_RANDOM_USEC, scale=4), 0.1),
    Expected("hdd-x4", "sequential-outer", 179, 0.1),
    Expected("ssd-x0.1", "random-4k-depth-1", serial(SSD_READ_USEC, scale=0.1), 0.1),
    Expected("ssd-x0.1", "random-4k-depth-32", 56_400, 0.04),
)


@dataclass
class Trial:
    device: str
    case: str
    metric: str
    value: float  # in model time
    disk: dict    # the model's own counters


def what_is_missing():
    """Why it cannot run here, or None."""
    reason = what_cannot_be_installed()
    if reason:
        return reason
    for program in ("fio", "losetup"):
        if not shutil.which(program):
            return f"{program} is not installed (bench/setup --lab release installs and builds)"
    return None


def plan(cases):
    """The rows of EXPECTED that are asked for."""
    known = [*CASES, *dict.fromkeys(row.device for row in EXPECTED)]
    for name in cases:
        if name not in known:
            raise LabError(f"--case {name}: must be one of {', '.join(known)}")
    devices = [name for name in cases if name not in CASES]
    names = [name for name in cases if name in CASES]
    return [row for row in EXPECTED
            if (not devices or row.device in devices) and (not names or row.case in names)]


class DiskModelResults(Results):
    def __init__(self, rows):
        super().__init__(NAME)
        self.expected = rows

    def judged(self):
        """(row, values, share by which their median deviates, is that within the tolerance?)"""
        for row in self.expected:
            values = self._values.get((row.case, row.device, VARIANT, row.metric(), UNITS[row.metric()]))
            if values:
                deviation = statistics.median(values) / row.value - 1
                yield row, values, deviation, abs(deviation) <= row.tolerance

    def missed(self):
        """Of what was not measured, nothing is known to be right."""
        judged = list(self.judged())
        return len(judged) < len(self.expected) or not all(good for *_, good in judged)

    def table(self):
        lines = [f"{'device':10}{'case':20}{'unit':6}{'expected':>9}{'measured':>10}{'min':>9}{'max':>9}"
                 f"{'deviation':>11}"]
        for row, values, deviation, good in self.judged():
            numbers = "".join(f"{round(value, 0 if value >= 1000 else 1):>{width}g}" for value, width in
                              zip((row.value, statistics.median(values), min(values), max(values)), (9, 10, 9, 9)))
            verdict = "good" if good else "MISSED"
            lines.append(f"{row.device:10}{row.case:20}{UNITS[row.metric()]:6}{numbers}{deviation:>+11.1%}"
                         f"  {verdict}: within {row.tolerance:.0%}")
        return "\n".join(lines)


def parse(text, metric):
    """fio's JSON: what all jobs read or wrote, a second of wall time."""
    try:
        jobs = json.loads(text)["jobs"]
        rates = [job[way]["iops"] if metric == OPS else job[way]["bw_bytes"] / 1e6
                 for job in jobs for way in ("read", "write")]
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"fio's output: {error!r}") from error
    if sum(rates) <= 0:
        raise LabError("fio read and wrote nothing")
    return sum(rates)


def fio_command(case, device, seconds):
    # Zeros, since those cost the model no memory.
    return ("fio", f"--name={case}", f"--filename={device}", "--ioengine=libaio", "--direct=1", "--time_based",
            f"--runtime={round(seconds * 1000)}ms", "--zero_buffers", "--output-format=json", *CASES[case][1:])


def measure(disk, row, seconds):
    if disk.device != row.kind():
        disk.become(DiskSettings(row.kind(), disk.settings.scheduler))
    disk.control(f"scale={row.scale():g}")
    disk.cold()
    try:
        answer = run_command(*fio_command(row.case, disk.loop, seconds), timeout=FIO_TIMEOUT_SECONDS)
        counters = disk.stat()
    finally:
        disk.control("mode=free scale=1")
    return Trial(row.device, row.case, row.metric(), parse(answer, row.metric()) / row.scale(), counters)


@contextlib.contextmanager
def bare_disk(build, settings):
    """The modelled disk under its loop device, without a file system; gone at the end, whatever happens."""
    program = Path(build).resolve() / "bench/canfs-disk"
    if not program.exists():
        raise LabError(f"{program} is not built")
    old = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sweep()
    directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir="/tmp"))
    try:
        with open(directory / "disk.log", "wb") as log:
            disk = Disk(program, directory, DISK_MIB, log, settings)
            try:
                disk.attach()
                yield disk
            finally:
                disk.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        signal.signal(signal.SIGTERM, old)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    rows = plan(options.cases)
    results = DiskModelResults(rows)
    seconds = SECONDS_QUICK if options.quick else SECONDS
    with bare_disk(build, DiskSettings(scheduler=options.disk.scheduler or "none")) as disk:
        for number in range(options.runs):
            for row in rows:
                trial = measure(disk, row, seconds)
                counters = ", ".join(f"{name} {trial.disk[name]:g}" for name in STATISTICS)
                say(f"run {number + 1} of {options.runs}, {row.device}, {row.case}: {trial.value:.4g} "
                    f"{UNITS[trial.metric]} ({counters})")
                results.add(row.case, row.device, VARIANT, trial.metric, UNITS[trial.metric], trial.value)
                if keep:
                    keep(trial)
    return results
