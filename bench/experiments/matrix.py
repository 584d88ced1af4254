# SPDX-License-Identifier: LGPL-3.0-or-later
"""matrix: file systems under an NFS server, by clients, request size and direction, as Whitney compared them (2002): each
client reads or writes a large file of its own, in order. Which file system is the fastest, and does canfs change that?

local   as many processes on the server itself (fio), through its page cache
stock   clients of NFSv3, Ganesha over VFS
canfs   the same clients, CANFS over VFS

The clients are programs beside the server, one process and TCP connection each (canfs-job-pattern, canfs-job-fill), and no
kernel's. 40 guests would fit into 23 GB of memory, but on four processors, which they share with the server and the disk,
their own time would decide; and 1 to 13 guests beside 40 programs would be no series. So the requests are of exactly the size
that the case names, whatever a kernel would make of them, 128 KB of READs are in flight (the read-ahead of a kernel client)
or 16 WRITEs (its RPC slots of 2002), and nothing is cached by a client. What is missed: there is no agent, so canfs is its
server's half; what the agent does for writers is in copy, burst and together.

WRITEs are UNSTABLE. Throughput of writes is what was written over the time until the last client's COMMIT was answered (local:
until the last fsync), or the server's memory would be measured."""

import json
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace

from bench.experiments import canfs, figures_plot, matrix_plot, reading_files
from bench.experiments.options import Options, check_names
from bench.experiments.figure import QUICK_COMPARES_NOTHING
from bench.experiments.reading import COLD_SHARE, result_of
from bench.lab.disk import FILESYSTEMS
from bench.lab.host import LabError, end, run as run_command
from bench.lab.lab import Lab
from bench.lab.report import Results

NAME = "matrix"
HELP = "file systems x clients x request size x direction, local and NFS (Whitney 2002)"
RUNS = 3
RANKED = [name for name, filesystem in FILESYSTEMS.items() if not filesystem.make_log]  # a log of its own disk: stable
RUNS_TO_RANK = 3
DISK_OPTIONS_REFUSED = ("filesystem",)
VARIANTS = ("local", "stock", "canfs")
CLIENTS = matrix_plot.CLIENTS
SIZES_KIB = (8, 32)
READ_WINDOW_KIB, WRITE_DEPTH = 128, 16
SET_UP_SECONDS = 0.7  # of 40 clients that mount and look up
GRACE_SECONDS = 60    # of fio, for its fsync
MIB = 1 << 20


@dataclass(frozen=True)
class Plan:
    seconds: float   # counted
    warm_up: float   # of reads, not counted: what is read ahead by then makes up for what is at the end
    clients: tuple
    sizes_kib: tuple
    file_mib: tuple  # (first file, its MiB, and that of those after it): more than each client can read


FULL = Plan(4, 1, CLIENTS, SIZES_KIB, ((0, 1024), (1, 224), (6, 112), (13, 64)))
QUICK = Plan(1, 0.3, (13,), (32,), ((0, 48),))


@dataclass(frozen=True)
class Case:
    filesystem: str
    direction: str
    kib: int
    clients: int

    @property
    def name(self):
        return f"{self.filesystem}-{self.direction}-{self.kib}k-clients-{self.clients}"


CASES = {case.name: case for filesystem in RANKED for direction in ("read", "write") for kib in SIZES_KIB
         for clients in CLIENTS for case in (Case(filesystem, direction, kib, clients),)}


@dataclass
class Trial:
    case: str
    device: str
    variant: str
    throughput: float  # MB/s
    seen: list         # what each client printed; local: the bytes of all
    disk: dict


class MatrixResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.verdict = QUICK_COMPARES_NOTHING if options.quick else \
            f"file systems are ranked by {RUNS_TO_RANK} runs and more" if options.runs < RUNS_TO_RANK else None

    def table(self):
        return "\n".join([super().table(), "", *([self.verdict] if self.verdict else self.rankings())])

    def measured(self, case, variant):
        """(median, min, max), or None."""
        return next(((row["median"], row["min"], row["max"]) for row in self.rows()
                     if (row["case"], row["variant"]) == (case.name, variant)), None)

    def ranking(self, direction, kib, clients, variant):
        """[(file system, median, min, max)], the fastest first."""
        found = [(filesystem, *values) for filesystem in RANKED
                 if (values := self.measured(Case(filesystem, direction, kib, clients), variant))]
        return sorted(found, key=lambda entry: -entry[1])

    def rankings(self):
        lines = ["'>': all runs of the one were faster than all of the other; '~': not"]
        for direction in ("read", "write"):
            for kib in SIZES_KIB:
                for clients in CLIENTS:
                    of_variant = {variant: self.ranking(direction, kib, clients, variant) for variant in VARIANTS}
                    lines += [f"{direction}-{kib}k-clients-{clients}, {variant:5}: {in_words(ranking)}"
                              for variant, ranking in of_variant.items() if len(ranking) > 1]
                    changed = swapped(of_variant["stock"], of_variant["canfs"])
                    lines += [f"{direction}-{kib}k-clients-{clients}: canfs changes it: {pair}" for pair in changed]
        return lines


def in_words(ranking):
    words = ranking[0][0]
    for (_, _, least, _), (name, _, _, most) in zip(ranking, ranking[1:]):
        words += f" {'>' if least > most else '~'} {name}"
    return words


def swapped(stock, canfs_):
    """Pairs of which the one is faster in all runs of stock, and the other in all of canfs."""
    def faster(ranking):
        return {(a, b) for a, _, least, _ in ranking for b, _, _, most in ranking if least > most}
    now = faster(canfs_)
    return [f"{b} > {a}, of stock {a} > {b}" for a, b in sorted(faster(stock)) if (b, a) in now]


def make_files(lab, plan):
    lab.disk.control("mode=free")
    clients = max(plan.clients)
    bounds = [first for first, _ in plan.file_mib[1:]] + [clients]
    for (first, mib), after in zip(plan.file_mib, bounds):
        if first < clients:
            reading_files.make(lab.disk.mount, first, min(after, clients) - first, mib)


def mib_of_file(plan, number):
    return next(mib for first, mib in reversed(plan.file_mib) if first <= number)


def outputs(lab, clients):
    return [lab.disk.mount / f"out-{number}" for number in range(clients)]


def reader(lab, plan, case, number, at):
    return ("canfs-job-pattern", "--file-mib", mib_of_file(plan, number), "--depth", READ_WINDOW_KIB // case.kib,
            "--warm-up", plan.warm_up, "--block-kib", case.kib, "--at", at, lab.server_address, lab.disk.mount, number)


def writer(lab, plan, case, number, at):
    return ("canfs-job-fill", "--seconds", plan.seconds, "--depth", WRITE_DEPTH,
            "--block-kib", case.kib, "--at", at, lab.server_address, lab.disk.mount, f"out-{number}")


def over_nfs(lab, plan, case):
    """(MB/s, what each client printed)"""
    command = reader if case.direction == "read" else writer
    at, jobs = time.monotonic() + SET_UP_SECONDS, []
    try:
        for number in range(case.clients):
            program, *words = command(lab, plan, case, number, at)
            jobs.append(lab.spawn_beside_server(lab.program(program), *words, stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True))
        if case.direction == "read":
            time.sleep(max(0, at + plan.warm_up + plan.seconds - time.monotonic()))
            for job in jobs:
                job.send_signal(signal.SIGTERM)
        seen = [result_of(f"{case.name}, client {number}", job) for number, job in enumerate(jobs)]
    finally:
        for job in jobs:
            end(job)
    seconds = plan.seconds if case.direction == "read" else max(said["seconds"] for said in seen)
    return sum(said["bytes"] for said in seen) / 1e6 / seconds, seen


def fio_command(lab, plan, case):
    """Without a warm-up, whose end each of fio's threads sees at another moment; the kernel has read too little ahead to matter.
    Writes zeros, as canfs-job-fill."""
    own = ("--filename_format=$jobnum", f"--size={mib_of_file(plan, case.clients - 1)}m") if case.direction == "read" else \
        ("--filename_format=out-$jobnum", "--size=8g", "--fallocate=none", "--end_fsync=1", "--zero_buffers")
    return ("fio", f"--name={case.name}", f"--directory={lab.disk.mount}", f"--rw={case.direction}", f"--bs={case.kib}k",
            f"--numjobs={case.clients}", "--thread", "--ioengine=psync", "--invalidate=0", f"--runtime={plan.seconds * 1000:.0f}ms",
            "--group_reporting", "--output-format=json", *own)


def on_server(lab, plan, case):
    answer = run_command(*fio_command(lab, plan, case), timeout=plan.seconds + GRACE_SECONDS)
    [job] = json.loads(answer[answer.index("{"):])["jobs"]
    return job[case.direction]["bw_bytes"] / 1e6, [{"bytes": job[case.direction]["io_bytes"]}]


def run_trial(lab, plan, case, variant, options):
    try:
        if variant != "local":
            canfs.start_server(lab, variant == "canfs", options)
        if case.direction == "write" and variant != "local":
            for path in outputs(lab, case.clients):
                path.touch()
        lab.disk.cold()
        throughput, seen = (on_server if variant == "local" else over_nfs)(lab, plan, case)
        return Trial(case.name, options.disk.name, variant, throughput, seen, lab.disk.stat())
    finally:
        lab.disk.control("mode=free")
        lab.stop_server()
        for path in outputs(lab, max(CLIENTS)):
            path.unlink(missing_ok=True)


def check_cold(trial, case):
    """What the disk did not read came from a cache."""
    asked_bytes = sum(said["bytes"] for said in trial.seen)
    if case.direction == "read" and trial.disk["read_bytes"] < COLD_SHARE * asked_bytes:
        raise LabError(f"{trial.case}, {trial.variant}: {asked_bytes} bytes were read, but only {trial.disk['read_bytes']} of the disk")


def chosen(options, plan, filesystem):
    return [case for case in CASES.values() if case.filesystem == filesystem and
            (case.name in options.cases or not options.cases and case.clients in plan.clients and case.kib in plan.sizes_kib)]


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, list(CASES))
    check_names("variant", options.variants, VARIANTS)
    plan = QUICK if options.quick else FULL
    if options.cases:
        plan = replace(plan, clients=CLIENTS)  # files for all
    variants = [variant for variant in VARIANTS if not options.variants or variant in options.variants]
    results = MatrixResults(options)
    total = options.runs * len(variants) * sum(len(chosen(options, plan, filesystem)) for filesystem in RANKED)
    begin, done = time.monotonic(), 0
    for number in range(options.runs):
        for filesystem in RANKED:
            cases = chosen(options, plan, filesystem)
            if not cases:
                continue
            # A new disk for each: files lie where they would on an empty one.
            with Lab(build, disk=replace(options.disk, filesystem=filesystem)) as lab:
                make_files(lab, plan)
                for case in cases:
                    for variant in variants:
                        trial = run_trial(lab, plan, case, variant, options)
                        done += 1
                        left = (time.monotonic() - begin) / done * (total - done)
                        say(f"run {number + 1} of {options.runs}, {case.name}, {variant}: {trial.throughput:.4g} MB/s"
                            f" ({left / 60:.0f} min left)")
                        check_cold(trial, case)
                        results.add(case.name, options.disk.name, variant, "throughput", "MB/s", trial.throughput)
                        if keep:
                            keep(trial)
    say(figures_plot.save(SimpleNamespace(NAME=NAME, HELP=HELP, panels=matrix_plot.PANELS), results))
    return results
