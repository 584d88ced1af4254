# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of readings.py have in common: files, cold caches, readers, the search for the best
read-ahead, and what is asked for.

limit        the raw disk, read past the page cache from its outer edge (zones: of the zone), where the files lie
local        as many processes on the server itself, read_ahead_kb 128; in some experiments
stock        Ganesha over VFS, read_ahead_kb 128
best-static  the same with the read_ahead_kb that is best for this very case
canfs        CANFS over VFS, read_ahead_kb 128
knfsd        the kernel's server in a guest with this disk (lab/knfsd.py), read_ahead_kb 128; if asked for by name"""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bench.experiments import figures_plot, reading_files
from bench.experiments.canfs import SERVER_OPTIONS
from bench.experiments.figure import verdicts
from bench.experiments.options import Options, check_names
from bench.experiments.reading_limits import limit_of, limit_of_guest
from bench.experiments.reading_processes import read_in_guest, read_locally
from bench.lab.disk import READ_AHEAD_KIB, DiskSettings
from bench.lab.host import LabError, end
from bench.lab.knfsd import check as check_knfsd
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

VARIANTS = ("stock", "best-static", "canfs")
ALL_VARIANTS = (*VARIANTS, "knfsd")
LOCAL = "local"
LEVELS_KIB = (128, 256, 512, 1024, 2048, 4096, 8192)
QUICK_LEVELS_KIB = (4096,)
QUICK_SHARE = 4     # --quick reads a fourth
SEED = 7
SET_UP_SECONDS = 0.5  # of a reader: mount, look up, all from a cold disk
BESIDE_SECONDS = 0.5  # a reader beside others begins when these are in flight
TIMEOUT_SECONDS = 200
COLD_SHARE = 0.99
LATE_USEC = 200  # mean; on a quiet machine 40 to 100
# Of what is read, evicted before it was and read again: the machine needs its memory for others (or its kernel reclaims
# before it has to, DAMON), and what is measured is that.
EVICTED_SHARE = 0.002
EVICTED_TRIES = 3  # the last one counts: it may be the variant itself that asks too much of the memory
GUEST_MIB = 512
PATH_MIB = 64  # fits a server's cache
UNITS = {"throughput": "MB/s", "of_limit": "1", "p50": "ms", "p99": "ms", "max": "ms", "waste": "1",
         "cpu_per_mb": "ms/MB", "first_seconds": "s", "last_seconds": "s", "last_over_first": "1",
         "disk_of_limit": "1", "path": "MB/s"}


@dataclass(frozen=True)
class Readers:
    """Readers that read at the same time in the same way. A kernel's read whole files, in order."""
    files: int = 1
    sharers: int = 1            # of each file, in as many parts
    pattern: str = "sequential"  # of canfs-job-pattern
    block_kib: int = 64
    depth: int = 4              # outstanding, each
    reads: int = None           # each; None: all of the file
    udp: bool = False
    kernel: bool = False        # in a guest, through its page cache
    busy: int = 0               # endless loops in that guest


@dataclass(frozen=True)
class Case:
    name: str
    mib: int                    # of all the files of `readers`
    readers: Readers
    beside: Readers = None      # reads one more file of `mib` until the others have ended
    beside_name: str = None     # NAME-sequential and NAME-this are the names of the results then
    variants: tuple = ALL_VARIANTS
    in_quick: bool = True
    server: dict = field(default_factory=dict)  # of the CANFS block
    device: str = None          # None: the one that was asked for
    zone: int = None            # of the disk, in which alone its file system is; None: on all of it

    def wanted(self, asked_for):
        return [variant for variant in self.variants if variant in (asked_for or (LOCAL, *VARIANTS))]

    def mib_in_all(self, quick):
        return self.mib // (QUICK_SHARE if quick else 1)

    def mib_each(self, quick):
        return self.mib_in_all(quick) // self.readers.files


@dataclass
class Trial:
    """One run of one variant, with all that was seen."""
    reading: str
    case: str
    device: str
    variant: str
    read_ahead_kib: int
    values: dict   # {case: {metric: value}}
    seen: dict     # {case: what its readers printed}
    disk: dict
    evicted_bytes: int  # by the kernel, and read again


@dataclass(frozen=True)
class Reading:
    """An experiment, as bench/run knows them."""
    NAME: str
    HELP: str
    cases: tuple
    metrics: tuple
    asked: tuple
    panels: tuple
    Options: type = Options
    DEFAULT_DEVICE: str = DiskSettings.device
    DISK_OPTIONS_REFUSED: tuple = ()

    def run(self, build, options, say, keep=None):
        """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
        check_names("variant", options.variants, (LOCAL, *ALL_VARIANTS))
        if "knfsd" in options.variants:
            check_knfsd(options.disk)
        check_names("case", options.cases, [case.name for case in self.cases])
        results = ReadingResults(self, options)
        for case in self.cases:
            if case.name in options.cases or not options.cases and (case.in_quick or not options.quick):
                # A disk of its own: where files lie on it does not depend on what was there before.
                own = replace(options, disk=replace(options.disk, device=case.device or options.disk.device, zone=case.zone))
                with Lab(build, disk=own.disk) as lab:
                    Runner(self, lab, own, say, keep or (lambda trial: None), results).run(case)
        say(figures_plot.save(self, results))
        return results


class ReadingResults(Results):
    """The table says which read-ahead was best, and of what is asked for whether it was reached."""

    def __init__(self, reading, options):
        super().__init__(reading.NAME, options.disk)
        self.quick = options.quick
        self.reading = reading
        self.limits = {}  # of the disk, MB/s, by zone
        self.best = {}  # case: KiB
        self.last = {}  # (case, variant): its last trial

    def add_trial(self, trial):
        self.last[trial.case, trial.variant] = trial
        for case, metrics in trial.values.items():
            for metric in self.reading.metrics:
                if metric in metrics:
                    self.add(case, trial.device, trial.variant, metric, UNITS[metric], metrics[metric])

    def table(self):
        lines = [super().table(), ""]
        lines += [f"{case}: best-static is read_ahead_kb {kib}" for case, kib in self.best.items()]
        # What is asked for in itself is asked of the default disk.
        asked_for = [asked for asked in self.reading.asked if asked.of or asked.of_case or self.disk == DiskSettings()]
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        return "\n".join([*lines, *verdicts(self, asked_for, cases, self.quick)])


@dataclass
class Runner:
    reading: Reading
    lab: Lab
    options: Options
    say: Callable
    keep: Callable
    results: ReadingResults

    def run(self, case):
        """--quick measures each setting once, so that the search's trials are the results."""
        wanted = case.wanted(self.options.variants)
        if not wanted:
            return
        names = self.make_files(case)
        if case.zone not in self.results.limits:
            self.results.limits[case.zone] = limit_of(self.lab.disk)
        self.results.add(first_case(case), self.options.disk.name, "limit", "throughput", UNITS["throughput"],
                         self.results.limits[case.zone])
        levels = QUICK_LEVELS_KIB if self.options.quick else LEVELS_KIB
        best = None
        for number in range(self.options.runs):
            for variant in self.options.in_turn(wanted, number):
                label = f"run {number + 1} of {self.options.runs}, {case.name}, {variant}"
                if variant == "best-static" and (best is None or self.options.quick):
                    best = self.search(case, names, levels)
                kib = best.read_ahead_kib if variant == "best-static" else READ_AHEAD_KIB
                trial = best if variant == "best-static" and self.options.quick else \
                    self.trial(case, names, variant, kib, label)
                self.results.add_trial(Trial(**vars(trial) | {"variant": variant}))

    def make_files(self, case):
        """Their names."""
        disk, mib = self.lab.disk, case.mib_each(self.options.quick)
        self.say(f"{case.name}: files, {case.readers.files} of {mib} MiB")
        disk.control("mode=free")
        names = reading_files.make(disk.mount, 1, case.readers.files, mib)
        if case.beside:
            names += reading_files.make(disk.mount, len(names) + 1, 1, case.mib_in_all(self.options.quick))
        return names

    def search(self, case, names, levels):
        """The best trial: of the throughput of those that read to the end."""
        trials = [self.trial(case, names, "search", kib, f"{case.name}, search, read_ahead_kb {kib}")
                  for kib in levels]
        best = max(trials, key=lambda trial: trial.values[first_case(case)]["throughput"])
        self.results.best[case.name] = best.read_ahead_kib
        return best

    def trial(self, case, names, variant, kib, label):
        for left in reversed(range(EVICTED_TRIES)):
            trial = self.attempt(case, names, variant, kib, label)
            share = trial.evicted_bytes / sum(what["bytes"] for what in trial.seen.values())
            text = f"{label}: {summary(trial.values)}{warning(trial.disk)}"
            if share <= EVICTED_SHARE:
                break
            text += f" (warning: the kernel evicted {share:.2%} of it before it was read{': once more' if left else ''})"
            if left:
                self.say(text)
        self.say(text)
        self.keep(trial)
        return trial

    def attempt(self, case, names, variant, kib, label):
        lab, knfsd, own = self.lab, variant == "knfsd", {}
        try:
            if variant != LOCAL:
                self.start_server(case, variant, kib)
            if knfsd:
                own["disk_of_limit"] = limit_of_guest(lab) / self.results.limits[case.zone]
            guests = lab.start_clients([Guest("a", GUEST_MIB)]) if case.readers.kernel else []
            lab.disk.cold()
            check_nothing_cached(label, (lab.server if knfsd else lab.disk).cached_bytes(names), case.mib_in_all(self.options.quick))
            cpu, evicted = counted(lab.server)
            mib = case.mib_each(self.options.quick)
            seen = {case.name: read_in_guest(lab, guests[0], case.readers, mib, names)} if guests else \
                {case.name: read_locally(lab, case.readers, mib, names)} if variant == LOCAL else \
                read_beside_server(lab, case, names, self.options.quick)
            cpu, evicted = (after - before for before, after in zip((cpu, evicted), counted(lab.server)))
            disk = lab.disk.settled()
            if knfsd:
                own["path"] = path_of_guest(lab, names[0], case.mib_each(self.options.quick))
        finally:
            self.clean_up()
        check_cold(label, disk, seen)
        values = values_of(seen, disk, cpu, self.results.limits[case.zone])
        values[first_case(case)] |= own
        if knfsd or variant == LOCAL:
            del values[first_case(case)]["cpu_per_mb"]  # User-Mode Linux's, not the server's; or no server
        return Trial(self.reading.NAME, case.name, self.options.disk.name, variant, kib, values, seen, disk, evicted)

    def start_server(self, case, variant, kib):
        lab, canfs = self.lab, variant == "canfs"
        if variant == "knfsd":
            lab.start_knfsd(kib)
            return
        # Before the server opens a file: the kernel looks at it then.
        lab.disk.read_ahead(kib)
        # Where there is no local file system, the export itself has to ask.
        lab.start_server("CANFS" if canfs else "VFS",
                         SERVER_OPTIONS | {"Prefetch": "true"} | case.server | self.options.server if canfs else None,
                         export_options={"Prefetch": "true"} if canfs else None)
        check_options_known(lab.server.log_text())

    def clean_up(self):
        self.lab.end_trial()
        self.lab.disk.read_ahead(READ_AHEAD_KIB)


def path_of_guest(lab, name, mib):
    """What the guest that serves gives at most, from its cache: MB/s of one reader of the beginning of this file."""
    mib = min(mib, PATH_MIB)
    lab.server.read("path", lab.disk.mount / name, mib)
    job = lab.spawn_beside_server(
        lab.program("canfs-job-pattern"), *words_of(Readers(), mib, quick=False), lab.server_address, lab.disk.mount, name,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return result_of("path", job)["mb_per_s"]
    finally:
        end(job)


def first_case(case):
    """The name of the results of its `readers`."""
    return f"{case.name}-sequential" if case.beside else case.name


def cpu_seconds(pid):
    """Processor time of a process, all its threads, in nanoseconds (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def counted(server):
    """Its seconds of processor time, and what was evicted of its cache; without a server nothing is counted."""
    return (cpu_seconds(server.pid), server.evicted_bytes()) if server else (0, 0)


def words_of(readers, mib, quick):
    """Options of canfs-job-pattern, for files of this size."""
    reads = readers.reads and readers.reads // (QUICK_SHARE if quick else 1)
    options = {"file-mib": mib, "pattern": readers.pattern, "block-kib": readers.block_kib, "depth": readers.depth,
               "sharers": readers.sharers, "reads": reads}
    words = [word for name, value in options.items() if value for word in (f"--{name}", value)]
    return words + (["--udp"] if readers.udp else [])


def read_beside_server(lab, case, names, quick):
    """{case: what its readers printed}; all begin at one moment, but the reader beside them, which ends with the others."""
    at = time.monotonic() + SET_UP_SECONDS
    groups = {first_case(case): (case.readers, case.mib_each(quick), names[:case.readers.files])}
    if case.beside:
        groups[f"{case.name}-{case.beside_name}"] = (case.beside, case.mib_in_all(quick), names[case.readers.files:])
    jobs = {}
    try:
        for name, (readers, mib, files) in groups.items():
            jobs[name] = lab.spawn_beside_server(
                lab.program("canfs-job-pattern"), "--seed", SEED, "--at", at + BESIDE_SECONDS * bool(jobs), *words_of(readers, mib, quick),
                lab.server_address, lab.disk.mount, *files, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = {}
        for name, job in jobs.items():
            if seen:
                job.send_signal(signal.SIGTERM)
            seen[name] = result_of(name, job)
        return seen
    finally:
        for job in jobs.values():
            end(job)


def result_of(name, job):
    try:
        out, errors = job.communicate(timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{name}: still reading after {TIMEOUT_SECONDS} s") from error
    if job.returncode != 0:
        raise LabError(f"{name}: {errors.strip()}")
    return json.loads(out)


def values_of(seen, disk, cpu_seconds_used, limit):
    """{case: {metric: value}}; what concerns all readers together is the first's."""
    values = {case: {"throughput": what["mb_per_s"], "p50": what["p50_ms"], "p99": what["p99_ms"],
                     "max": what["max_ms"], "first_seconds": what["first_seconds"],
                     "last_seconds": what["last_seconds"],
                     "last_over_first": what["last_seconds"] / what["first_seconds"]}
              for case, what in seen.items()}
    asked_bytes = sum(what["bytes"] for what in seen.values())
    first = next(iter(values.values()))
    first |= {"of_limit": first["throughput"] / limit, "waste": disk["read_bytes"] / asked_bytes - 1,
              "cpu_per_mb": 1e3 * cpu_seconds_used / (asked_bytes / 1e6)}
    return values


def check_nothing_cached(label, cached_bytes, mib):
    """Single pages may stay, where a processor still has them in its caches."""
    if cached_bytes > (1 - COLD_SHARE) * mib * reading_files.MIB:
        raise LabError(f"{label}: {cached_bytes} bytes of {mib} MiB are cached before the first read")


def check_cold(label, disk, seen):
    """No pattern asks twice for a block: what the disk did not read came from a cache."""
    asked_bytes = sum(what["bytes"] for what in seen.values())
    if disk["read_bytes"] < COLD_SHARE * asked_bytes:
        raise LabError(f"{label}: {asked_bytes} bytes were read, but only {disk['read_bytes']} of the disk")


def check_options_known(log):
    """Ganesha goes on without an option that it does not know: what is measured would not be what was meant."""
    for line in log.splitlines():
        if "Unknown parameter" in line:
            raise LabError(f"the server does not know an option: {line.split(' :')[-1].strip()}")


def warning(disk):
    """A disk that answers late is no disk any more, least of all for a reader that waits for each answer."""
    late = disk["late_mean_usec"]
    return f" (warning: the machine is busy, the modelled disk {late:.0f} us late)" if late > LATE_USEC else ""


def summary(values):
    return "; ".join(f"{case}: " + ", ".join(f"{metric} {metrics[metric]:.4g}" for metric in
                                             ("throughput", "of_limit", "p50", "max", "waste", "disk_of_limit", "path") if metric in metrics)
                     for case, metrics in values.items())
