# SPDX-License-Identifier: LGPL-3.0-or-later
"""overhead: what a CANFS export costs over the VFS export below it, where nothing is to be gained.

One server has three exports: `stock` (VFS), `canfs` (CANFS over VFS) and `control`, which is VFS
again: its ratio to stock would be 1 if measuring were perfect, and its spread is what a ratio is
worth. One client drives them in turn through one connection, in slices of a tenth of a second:
what the machine does to one, it does to the next as well (bench/README.md, "overhead").

read-4k, read-1m           a file in the server's page cache
getattr, lookup            as a server answers them: from Ganesha's metadata cache, above the FSAL
getattr-miss, lookup-miss  the same with that cache off, so that each reaches the FSAL"""

import json
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from bench.experiments.options import Options as CommonOptions
from bench.lab.ganesha import Ganesha
from bench.lab.host import LabError, get, run as run_command
from bench.lab.lab import Lab
from bench.lab.net import SERVER_ADDRESS
from bench.lab.report import Results

NAME = "overhead"
HELP = "a CANFS export against the VFS export below it: cached reads, GETATTR, LOOKUP"
DEVICE = "none"
VARIANTS = ("stock", "canfs", "control")
STACKS = {"stock": "VFS", "canfs": "CANFS", "control": "VFS"}
GOAL = 0.97
FILE_MIB = 64
FILES = 256
TIMEOUT_SECONDS = 120
# A kernel may take pages back even where memory is plenty (DAMON): then a trial is made again.
COLD_SHARE = 0.01
TRIES = 5
NO_METADATA_CACHE = {"MDCACHE": {"Dir_Chunk": 0}, "EXPORT_DEFAULTS": {"Attr_Expiration_Time": 0}}
METRICS = (("ops_per_s", "1/s"), ("server_cpu", "us/op"), ("client_cpu", "%"))
# Of a variant and stock in the same round: what, its unit, its format, its name in the table.
PAIRED = {"ratio": ("1", ".3f", "ops_per_s, ratio"),
          "server_cpu_ratio": ("1", ".3f", "server_cpu, ratio"),
          "server_cpu_extra": ("ns/op", ".0f", "server_cpu, ns more")}


@dataclass(frozen=True)
class Case:
    name: str
    op: str
    depth: int  # outstanding requests
    kib: int = 4
    cached: bool = True  # Ganesha's metadata cache is on
    slice_seconds: float = 0.01  # long against one request, short against the machine's moods


CASES = (
    Case("read-4k", "read", 8),
    Case("read-1m", "read", 4, kib=1024, slice_seconds=0.03),
    Case("getattr", "getattr", 8),
    Case("lookup", "lookup", 8),
    Case("getattr-miss", "getattr", 8, cached=False),
    Case("lookup-miss", "lookup", 8, cached=False),
)


class Options(CommonOptions):
    @staticmethod
    def rounds():
        return 120

    def idle_seconds(self):
        return 6 if self.quick else 30


@dataclass
class Trial:
    """All slices of one case at one server."""
    case: str
    variant: str
    slices: list
    latencies: dict  # variant: percentiles over all of its slices


class OverheadResults(Results):
    """The table says for each case what is to be shown."""

    def __init__(self):
        super().__init__(NAME)
        self.ratios = {}  # (case, variant, metric): one per round, of the pairs in PAIRED

    def add_ratio(self, case, variant, metric, value):
        self.ratios.setdefault((case, variant, metric), []).append(value)

    def rows(self):
        return super().rows() + [
            {"case": case, "device": DEVICE, "variant": variant, "metric": metric,
             "unit": PAIRED[metric][0],
             "median": statistics.median(values), "min": min(values), "max": max(values),
             "n": len(values)} for (case, variant, metric), values in self.ratios.items()]

    def table(self):
        lines = [super().table(), "", f"{'case':14}{'against stock':22}{'canfs':>29}"
                 f"{'control':>29}   median (its 95 % interval) of pairs"]
        for case, metric in dict.fromkeys((key[0], key[2]) for key in self.ratios):
            canfs, control = (self.ratios[case, variant, metric] for variant in VARIANTS[1:])
            _, form, name = PAIRED[metric]
            line = (f"{case:14}{name:22}{_interval(canfs, form):>29}"
                    f"{_interval(control, form):>29}")
            if metric == "ratio":
                line += f"   {_verdict(canfs)}: at least {GOAL} is asked for"
            lines.append(line)
        return "\n".join(lines)


def _bounds(values):
    """The median's 95 % interval from order statistics: nothing is assumed about the values."""
    ordered, n = sorted(values), len(values)
    reach = 0.98 * n ** 0.5
    return ordered[max(0, int(n / 2 - reach))], ordered[min(n - 1, int(n / 2 + reach))]


def _interval(values, form):
    median, low, high = (format(v, form) for v in (statistics.median(values), *_bounds(values)))
    return f"{median} ({low} ... {high}) {len(values)}"


def _verdict(values):
    if statistics.median(values) >= GOAL:
        return "good"
    return "MISSED" if _bounds(values)[1] < GOAL else "undecided, more --runs"


def make_files(lab):
    """stock and canfs share their files (hard links), and so the very pages; control has copies: two
    exports of one FSAL would share Ganesha's cache entries, too."""
    first = lab.disk.mount / VARIANTS[0]
    for variant in VARIANTS:
        (lab.disk.mount / variant).mkdir()
    run_command("dd", "if=/dev/urandom", f"of={first / 'data'}", "bs=1M", f"count={FILE_MIB}",
                "status=none")
    for number in range(FILES):
        (first / str(number)).write_text("x", encoding="ascii")
    for file in first.iterdir():
        (lab.disk.mount / "canfs" / file.name).hardlink_to(file)
        shutil.copyfile(file, lab.disk.mount / "control" / file.name)
    run_command("sync", "-f", lab.disk.mount)


def server(lab, options, cached):
    return Ganesha([(str(lab.disk.mount / v), STACKS[v]) for v in VARIANTS], lab.name,
                   lab.directory / "ganesha", options=options.server, build=lab.build,
                   blocks={} if cached else NO_METADATA_CACHE)


def measure(lab, ganesha, case, options, say):
    """A trial of one case in which all pages were in memory."""
    for _ in range(TRIES):
        trial, cold_share = attempt(lab, ganesha, case, options)
        if cold_share <= COLD_SHARE:
            return trial
        say(f"{case.name}: {100 * cold_share:.1f} % came from the disk, which does not count")
    raise LabError(f"{case.name}: {100 * cold_share:.1f} % came from the disk, not from the page "
                   f"cache, and no less than {100 * COLD_SHARE:.0f} % in {TRIES} trials")


def attempt(lab, ganesha, case, options):
    """(a trial, which share of what was read came from the disk)."""
    command = lab.network.enter() + [
        lab.program("canfs-job-nfs"), "--op", case.op, "--depth", case.depth, "--block-kib",
        case.kib, "--file-mib", FILE_MIB, "--files", FILES, "--rounds", options.rounds(),
        "--slice", case.slice_seconds, "--server-pid", ganesha.pid, SERVER_ADDRESS,
        *(lab.disk.mount / variant for variant in VARIANTS)]
    for variant in VARIANTS:
        (lab.disk.mount / variant / "data").read_bytes()
    before = lab.disk.stat()["read_bytes"]
    seen = json.loads(run_command(*command, timeout=TIMEOUT_SECONDS))
    slices = seen["slices"]
    cold = lab.disk.stat()["read_bytes"] - before
    served = sum(item["ops"] for item in slices) * case.kib * 1024
    for item in slices:
        item["variant"] = VARIANTS[item.pop("export")]
    return (Trial(case.name, ",".join(VARIANTS), slices, dict(zip(VARIANTS, seen["latencies"]))),
            cold / served)


def per_round(slices, variant):
    """[{metric: value}] of one variant: its two slices of a round together."""
    rounds = {}
    for item in slices:
        if item["variant"] == variant:
            rounds.setdefault(item["round"], []).append(item)
    return [{"ops_per_s": sum(i["ops"] for i in pair) / sum(i["seconds"] for i in pair),
             "server_cpu": 1e6 * sum(i["server_cpu_seconds"] for i in pair)
                           / sum(i["ops"] for i in pair),
             "client_cpu": 100 * sum(i["client_cpu_seconds"] for i in pair)
                           / sum(i["seconds"] for i in pair)} for pair in rounds.values()]


def add(results, trial):
    values = {variant: per_round(trial.slices, variant) for variant in VARIANTS}
    for variant in VARIANTS:
        for one in values[variant]:
            for metric, unit in METRICS:
                results.add(trial.case, DEVICE, variant, metric, unit, one[metric])
        for metric in ("p50", "p99"):
            results.add(trial.case, DEVICE, variant, metric, "ms",
                        trial.latencies[variant][f"{metric}_ms"])
        if variant == "stock":
            continue
        for one, stock in zip(values[variant], values["stock"]):
            results.add_ratio(trial.case, variant, "ratio", one["ops_per_s"] / stock["ops_per_s"])
            results.add_ratio(trial.case, variant, "server_cpu_ratio",
                              one["server_cpu"] / stock["server_cpu"])
            results.add_ratio(trial.case, variant, "server_cpu_extra",
                              1e3 * (one["server_cpu"] - stock["server_cpu"]))


def summary(trial):
    ratio = {v: statistics.median(
        one["ops_per_s"] / stock["ops_per_s"] for one, stock in zip(
            per_round(trial.slices, v), per_round(trial.slices, "stock"))) for v in VARIANTS[1:]}
    ops = statistics.median(one["ops_per_s"] for one in per_round(trial.slices, "stock"))
    return (f"stock {ops:.0f} ops/s, canfs {ratio['canfs']:.3f} of it, "
            f"control {ratio['control']:.3f}")


def cpu_seconds(tasks):
    """Processor time of threads, from the scheduler (in nanoseconds; stat counts whole ticks)."""
    return sum(int(get(task / "schedstat").split()[0]) for task in tasks) / 1e9


def add_idle(results, ganesha, seconds):
    """What making prices costs a server which nobody asks for anything."""
    tasks = [task for task in Path(f"/proc/{ganesha.pid}/task").iterdir()
             if get(task / "comm") == "canfs_market"]
    if not tasks:
        raise LabError("the server has no thread canfs_market")
    before, begin = cpu_seconds(tasks), time.monotonic()
    time.sleep(seconds)
    share = 100 * (cpu_seconds(tasks) - before) / (time.monotonic() - begin)
    results.add("market-thread", DEVICE, "canfs", "cpu_pct", "%", share)
    return share


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    results = OverheadResults()
    cases = [case for case in CASES if not options.cases or case.name in options.cases]
    say("setting up: network, disk, files")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.control("mode=free")
        make_files(lab)
        for number in range(options.runs):
            # Each run has a server of its own: where its memory lies is a matter of luck, too.
            for cached in (True, False):
                chosen = [case for case in cases if case.cached == cached]
                if not chosen:
                    continue
                with server(lab, options, cached) as ganesha:
                    for case in chosen:
                        trial = measure(lab, ganesha, case, options, say)
                        say(f"run {number + 1} of {options.runs}, {case.name}: {summary(trial)}")
                        add(results, trial)
                        if keep:
                            keep(trial)
                    if cached and number == 0:
                        share = add_idle(results, ganesha, options.idle_seconds())
                        say(f"the server's market thread takes {share:.2f} % of a processor")
    return results
