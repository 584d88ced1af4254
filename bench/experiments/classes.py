# SPDX-License-Identifier: LGPL-3.0-or-later
"""classes (CA-NFS §5, fairness, selective sharing and priorities): which of four clients defer, and for how long.

Each writes a file at a rate that the server's disk could take at once, and keeps it open; a fifth client reads at random, paced, and
with it the disk is expensive now and then. All run an agent of the same configuration.

equal    all four are told the same prices, for ten minutes: Jain's index of the seconds that they deferred
premium  two of them are of a class that is told twice the price

    reader   |.:.:.:.:.:.:.:.:|
    a b c d  |================| close

A client's `deferred` is what its agent counts (canfsctl status, deferred_sec), `held` the mean of what it held, every five seconds."""

import json
import statistics
from dataclasses import dataclass, replace

from bench.experiments import canfs
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run"]
NAME = "classes"
HELP = "four equal clients, and two classes of two: who defers, and for how long (CA-NFS §5)"
RUNS = 3
DATA_MB = 4000
GUEST_MIB = 384
WRITERS = "abcd"
BATCH = "cd"
PREMIUM_PCT = 100
RATE_MB = 1.5
READS_PER_SEC = 70
SEED = 7
SAMPLE_SECONDS = 5
TIMEOUT_SECONDS = 240  # more than the case takes
SAMPLE = f'for i in $(seq "$2"); do sleep {SAMPLE_SECONDS}; "$1" status --json || exit; done'
MIB = 1 << 20


@dataclass(frozen=True)
class Case:
    name: str
    seconds: int
    groups: dict        # name: of which clients
    premium_pct: int    # of BATCH; 0: there is no class


FULL = (Case("equal", 600, {name: name for name in WRITERS}, 0), Case("premium", 180, {"desks": "ab", "batch": BATCH}, PREMIUM_PCT))
QUICK = (replace(FULL[1], seconds=40),)
ASKED = (Asked("jain_deferred", "at least", 0.95, case="equal"),)


@dataclass
class Trial:
    """One run of one case, with all that was seen."""
    case: Case
    reader: dict
    writers: dict  # client: what its writer printed
    status: dict   # client: of its mount, as canfsctl status had it, every SAMPLE_SECONDS
    prices: list   # of who is of no class
    agents: dict   # client: what its agent logged


def jain(values):
    """1: all have the same; 1 / n: one has all."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1


def documents(text):
    """The JSON values that follow each other."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        at += len(text[at:]) - len(text[at:].lstrip())


class ClassesResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.quick = options.quick

    def add_trial(self, trial):
        def row(who, metric, unit, value):
            self.add(f"{trial.case.name}-{who}" if who else trial.case.name, self.disk.name, "canfs", metric, unit, value)
        for group, members in trial.case.groups.items():
            row(group, "deferred", "s", statistics.mean(trial.status[name][-1]["deferred_sec"] for name in members))
            row(group, "held", "MB", statistics.mean(
                mount["held_bytes"] / 1e6 for name in members for mount in trial.status[name]))
            row(group, "close_seconds", "s", statistics.mean(trial.writers[name]["close_seconds"] for name in members))
            row(group, "write_p99", "ms", max(trial.writers[name]["write_p99_ms"] for name in members))
        if not trial.case.premium_pct:
            row("", "jain_deferred", "1", jain([mounts[-1]["deferred_sec"] for mounts in trial.status.values()]))
        row("reader", "ops_per_s", "1/s", trial.reader["ops_per_s"])
        row("reader", "p99", "ms", trial.reader["p99_ms"])

    def table(self):
        return "\n".join([super().table(), "", *verdicts(self, ASKED, ["equal"], self.quick)])


def classes_of(lab, case):
    """Of the CANFS { } block; the first client is the reader."""
    if not case.premium_pct:
        return []
    addresses = ", ".join(str(lab.network.guest_address(1 + WRITERS.index(name))) for name in BATCH)
    return [f"Name = batch; Clients = {addresses}; Premium = {case.premium_pct};"]


def run_trial(lab, case, options):
    lab.start_server("CANFS", canfs.SERVER_OPTIONS | options.server, classes_of(lab, case))
    reader, *writers = lab.start_clients([Guest("reader", GUEST_MIB), *(Guest(name, GUEST_MIB) for name in WRITERS)])
    lab.disk.cold()
    agents = canfs.start_agents(lab, writers, options.agent)
    watch = canfs.PriceWatch(lab)
    jobs = [reader.prepare("read", lab.program("canfs-job-read"), "--direct", "--rate", READS_PER_SEC, "--phases", f"0-{case.seconds}",
                           "--seed", SEED, lab.on_mount("data"))]
    jobs += [writer.prepare("write", lab.program("canfs-job-write"), "--mb", int(case.seconds * RATE_MB), "--rate-mb", RATE_MB,
                            "--close-at", case.seconds, lab.on_mount(f"out-{writer.name}")) for writer in writers]
    watches = [writer.prepare("status", "bash", "-c", SAMPLE, "bash", lab.program("canfsctl"), case.seconds // SAMPLE_SECONDS)
               for writer in writers]
    launch(jobs + watches)
    status = {job.client.name: [document["mounts"][0] for document in documents(job.wait(case.seconds + TIMEOUT_SECONDS))]
              for job in watches}
    read, *wrote = [job.result(case.seconds + TIMEOUT_SECONDS) for job in jobs]
    trial = Trial(case, read, dict(zip(WRITERS, wrote)), status, watch.stop(), canfs.stop_agents(agents))
    lab.end_trial()
    for name in WRITERS:
        (lab.disk.mount / f"out-{name}").unlink(missing_ok=True)
    return trial


def summary(trial):
    deferred = ", ".join(f"{name} {mounts[-1]['deferred_sec']:.0f}" for name, mounts in trial.status.items())
    prices = statistics.mean(sample["write"] for sample in trial.prices if sample["write"] is not None)
    return (f"deferred for {deferred} s of {trial.case.seconds}; reader {trial.reader['ops_per_s']:.0f} ops/s, "
            f"p99 {trial.reader['p99_ms']:.1f} ms; mean price {prices:.2f}")


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, [case.name for case in FULL])
    check_names("variant", options.variants, ["canfs"])
    cases = [case for case in (QUICK if options.quick else FULL) if not options.cases or case.name in options.cases]
    results = ClassesResults(options)
    say(f"setting up: {options.disk.describe()}, a file of {DATA_MB} MB")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.write_file("data", DATA_MB)
        for number in range(options.runs):
            for case in cases:
                trial = run_trial(lab, case, options)
                say(f"run {number + 1} of {options.runs}, {case.name}: {summary(trial)}")
                results.add_trial(trial)
                if keep:
                    keep(trial)
    return results
