# SPDX-License-Identifier: LGPL-3.0-or-later
"""together: kinds of work that share a disk, each alone, in pairs and all at once, stock and canfs. What is good for one must not be
paid by another: each member is to have as much as without canfs.

sequential  8 readers of a file each (as readers-8)
random      one reader at random, 8 KB, one outstanding (as mixed)
small       64 threads that read 16 KB files, each once: a web server with a cold cache
large       a client that writes a large file at full speed
fsync       8 threads that write 16 KB files, with an fsync each: a mail server

sequential and random read beside the server, without a client's cache; the others are clients with an agent each."""

import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

from bench.experiments import canfs, reading_files
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.reading import Readers, result_of, words_of
from bench.experiments.rounds import chosen, run_rounds
from bench.lab.client import launch
from bench.lab.host import end
from bench.lab.lab import Guest
from bench.lab.report import Results

NAME = "together"
HELP = "readers and writers that share a disk, in pairs and all at once"
VARIANTS = ("stock", "canfs")
SEED = 7
SET_UP_SECONDS = 1  # of all that runs
TIMEOUT_SECONDS = 120
SMALL_FILES, SMALL_THREADS, FSYNC_THREADS = 20_000, 64, 8
SMALL_JOB = __file__.replace("experiments/together.py", "jobs/small_files.py")
ALL = "all"


@dataclass(frozen=True)
class Plan:
    seconds: float
    warm_up: float   # of them, not counted of sequential and random: what is read ahead by then makes up for what is at the end
    mib_each: int    # of the sequential readers' files: more than they can read
    random_mib: int


FULL = Plan(18, 3, 512, 1024)
QUICK = Plan(6, 1, 160, 512)


def read_beside_server(lab, plan, readers, mib, names, at):
    """A job of canfs-job-pattern that reads until it is told to end."""
    return lab.spawn_beside_server(
        lab.program("canfs-job-pattern"), "--seed", SEED, "--at", at, "--warm-up", plan.warm_up, *words_of(readers, mib, False),
        lab.server_address, lab.disk.mount, *names, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def sequential(lab, plan, at):
    return read_beside_server(lab, plan, Readers(files=8), plan.mib_each, [str(number) for number in range(1, 9)], at)


def random(lab, plan, at):
    return read_beside_server(lab, plan, Readers(pattern="random", block_kib=8, depth=1), plan.random_mib, ["9"], at)


def small(lab, plan):
    return SMALL_JOB, "read", lab.on_mount("small"), SMALL_THREADS, plan.seconds, SMALL_FILES


def large(lab, plan):
    return lab.program("canfs-job-write"), "--mb", 1e5, "--seconds", plan.seconds, lab.on_mount("out-large")


def fsync(lab, plan):
    return SMALL_JOB, "write", lab.on_mount("out-fsync"), FSYNC_THREADS, plan.seconds


def mb_per_s(said):
    return {"throughput": said["mb_per_s"], "p50": said["p50_ms"], "p99": said["p99_ms"]}


def reads_per_s(said):
    blocks = said["bytes"] / (8 << 10)
    return {"ops_per_s": blocks / said["last_seconds"], "p50": said["p50_ms"], "p99": said["p99_ms"]}


def files_per_s(said):
    return {"ops_per_s": said["files"] / said["seconds"], "p50": said["p50_ms"], "p99": said["p99_ms"]}


def written(said):
    return {"throughput": said["bytes"] / 1e6 / said["seconds"]}


@dataclass(frozen=True)
class Member:
    name: str
    start: Callable    # of a reader beside the server: its process; else the command of a guest
    values: Callable   # (what it printed): {metric: value}
    guest_mib: int = 0  # 0: beside the server


MEMBERS = (
    Member("sequential", sequential, mb_per_s),
    Member("random", random, reads_per_s),
    Member("small", small, files_per_s, 256),
    Member("large", large, written, 512),
    Member("fsync", fsync, files_per_s, 256),
)
CASES = {"+".join(member.name for member in some): some for count in (1, 2) for some in combinations(MEMBERS, count)} | {ALL: MEMBERS}
UNITS = {"throughput": "MB/s", "ops_per_s": "1/s", "p50": "ms", "p99": "ms"}
ASKED = (Asked("throughput", "at least", 0.97, "stock"), Asked("ops_per_s", "at least", 0.97, "stock"),
         Asked("p99", "at most", 1.1, "stock"))


@dataclass
class Trial:
    """One run of one case and variant, with all that was seen."""
    case: str
    device: str
    variant: str
    said: dict    # {member: what it printed}
    values: dict  # {member: {metric: value}}
    disk: dict
    prefetch: dict  # what canfsctl server prefetch says; {}: stock
    agents: dict

    def __str__(self):
        return "; ".join(f"{member} " + ", ".join(f"{metric} {value:.3g}" for metric, value in metrics.items())
                         for member, metrics in self.values.items())


class TogetherResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.quick = options.quick

    def add_trial(self, trial):
        for member, metrics in trial.values.items():
            for metric, value in metrics.items():
                self.add(row_name(trial.case, member), self.disk.name, trial.variant, metric, UNITS[metric], value)

    def table(self):
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        return "\n".join([super().table(), "", *verdicts(self, ASKED, cases, self.quick)])


def row_name(case, member):
    others = "+".join(name for name in case.split("+") if name != member)
    return f"{member}-beside-{others}" if others else f"{member}-alone"


def make_files(lab, plan):
    lab.disk.control("mode=free")
    reading_files.make(lab.disk.mount, 1, 8, plan.mib_each)
    reading_files.make(lab.disk.mount, 9, 1, plan.random_mib)
    directory = lab.disk.mount / "small"
    directory.mkdir()
    for number in range(SMALL_FILES):
        (directory / str(number)).write_bytes(b"\xa5" * 16384)


def work(lab, plan, members, clients):
    """{member: what it printed}"""
    jobs = {member.name: client.prepare("work", *member.start(lab, plan))
            for member, client in zip([m for m in members if m.guest_mib], clients)}
    at = time.monotonic() + SET_UP_SECONDS
    beside = {}
    try:
        for member in members:
            if not member.guest_mib:
                beside[member.name] = member.start(lab, plan, at)
        time.sleep(max(0, at - time.monotonic()))
        launch(list(jobs.values()))
        time.sleep(plan.seconds)
        for job in beside.values():
            job.send_signal(signal.SIGTERM)
        return {name: result_of(name, job) for name, job in beside.items()} | \
               {name: job.result(TIMEOUT_SECONDS) for name, job in jobs.items()}
    finally:
        for job in beside.values():
            end(job)


def run_trial(lab, plan, case, variant, options):
    members, priced = CASES[case], variant == "canfs"
    try:
        canfs.start_server(lab, priced, options)
        clients = lab.start_clients([Guest(member.name, member.guest_mib) for member in members if member.guest_mib])
        lab.disk.cold()
        agents = canfs.start_agents(lab, clients, options.agent) if priced and clients else []
        lab.disk.model_on("reset")
        said = work(lab, plan, members, clients)
        disk = lab.disk.stat()
        prefetch = canfs.ask_server(lab, "prefetch") if priced else {}
        lab.disk.control("mode=free")
        values = {member.name: member.values(said[member.name]) for member in members}
        return Trial(case, options.disk.name, variant, said, values, disk, prefetch, canfs.stop_agents(agents))
    finally:
        lab.end_trial()
        run_clean_up(lab)


def run_clean_up(lab):
    (lab.disk.mount / "out-large").unlink(missing_ok=True)
    directory = lab.disk.mount / "out-fsync"
    if directory.exists():
        for file in directory.iterdir():
            file.unlink()


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases, variants = chosen("case", options.cases, CASES), chosen("variant", options.variants, VARIANTS)
    plan = QUICK if options.quick else FULL
    say(f"setting up: {options.disk.describe()}, files")
    return run_rounds(build, options, cases, variants,
                      lambda lab, _, case, variant: run_trial(lab, plan, case, variant, options),
                      TogetherResults(options), say, keep, prepare=lambda lab: make_files(lab, plan))
