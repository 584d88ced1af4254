# SPDX-License-Identifier: LGPL-3.0-or-later
"""prices (CA-NFS §4.1.2 "On the Pricing Metric", Figure 5): does the price follow the bottleneck,
whichever it is? Load rises in steps; the price is what comes over the wire (canfsctl price --watch).

network  (a, b)  Clients join one by one; each reads a cached file at a fixed rate over a link of known
                 speed, of which three take more than there is.
memory   (c, d)  One client re-reads a growing share of what it read before, out of the server's cache. (Its
                 reads are at random places: the server's kernel reads ahead but little, or half of its cache
                 would hold what nobody reads.)
disk     (e, f)  Four clients, each at a fixed rate, read at random in a growing span of a file: from
                 what is cached to all of the modelled disk's file.

backend  (g, h)  The load of disk, of which the server looks at nothing but its own response times.

All three monitors are in the market in all cases, or backend instead of disk, so that the right one must prevail. (The processors
are not: clients, server and modelled disk share them here.) From idle to the highest load there is a step,
too, before or after the staircase: how soon does it show?"""

import statistics
import time
from dataclasses import dataclass, replace

from bench.experiments import canfs, prices_plot
from bench.experiments.options import Options
from bench.lab.disk import READ_AHEAD_KIB
from bench.lab.host import LabError
from bench.lab.lab import Lab
from bench.lab.load import Load, ServerWatch, fill_server_cache
from bench.lab.net import Link
from bench.lab.report import Results

NAME = "prices"
HELP = "the price against the load of network, memory and disk (CA-NFS Figure 5)"
SERVER_OPTIONS = {"Monitors": "network, disk, memory"}
BACKEND_OPTIONS = {"Monitors": "network, memory, backend"}
PRICE_SECONDS = 0.1
LINK_MBIT = 100  # more would be a matter of this machine's processors
DATA_MB = 4000
CACHED_MIB = 64
START_SECONDS = 2.0  # for the clients' mounts, before the phases begin
TIMEOUT_SECONDS = 30
# Below this price nothing is a bottleneck, and the name that comes with it is no finding.
BUSY = 0.05
# Prices go over the wire in such steps: what differs by less is the same.
TAG_STEP = 1 / 255
# The share of the step from the idle price to the saturated one that must be seen.
HALF = 0.5


@dataclass(frozen=True)
class Case:
    """The timeline: idle, a stair per load, and the step from idle to the last load."""
    name: str
    device: str
    what: str             # the loads are: for the plots
    loads: tuple
    idle_seconds: float
    stair_seconds: float
    settle_seconds: float  # at the beginning of each stair, which are not judged
    step_seconds: float
    step_first: bool = False
    gap_seconds: float = 4

    def idle(self):
        return max(0.0, self.idle_seconds - 5), self.idle_seconds

    def step(self):
        begin = self.idle_seconds
        if not self.step_first:
            begin += len(self.loads) * self.stair_seconds + self.gap_seconds
        return begin, begin + self.step_seconds

    def stair(self, number):
        begin = self.step()[1] if self.step_first else self.idle_seconds
        begin += number * self.stair_seconds
        return begin, begin + self.stair_seconds

    def end(self):
        return max(self.step()[1], self.stair(len(self.loads) - 1)[1])


FULL = (
    Case("network", "none", "clients", (1, 2, 3, 4), 10, 10, 2, 5),
    # The hit rates stand for a window of some seconds (CANFS_GHOSTS_TAU_SEC), so each
    # stair lasts longer, and the first comes when what filled the cache is forgotten.
    Case("memory", "none", "hit rate", (0, 0.25, 0.5, 0.75, 0.9, 1), 25, 20, 14, 2, step_first=True),
    Case("disk", "{disk}", "span, MiB", (256, 288, 352, 512, 1024, 3800), 10, 10, 2, 5),
    Case("backend", "{disk}", "span, MiB", (256, 288, 352, 512, 1024, 3800), 10, 10, 2, 5),
)
QUICK = (
    replace(FULL[0], idle_seconds=3, stair_seconds=2.5, settle_seconds=1, gap_seconds=2,
            step_seconds=2),
    replace(FULL[1], loads=(0.6, 1), idle_seconds=8, stair_seconds=13, settle_seconds=11,
            step_seconds=1),
    replace(FULL[2], loads=(256, 320, 512, 3800), idle_seconds=3, stair_seconds=2.5,
            settle_seconds=1, gap_seconds=2, step_seconds=2),
    replace(FULL[3], loads=(256, 320, 512, 3800), idle_seconds=3, stair_seconds=2.5,
            settle_seconds=1, gap_seconds=2, step_seconds=2),
)

NETWORK_KIB, NETWORK_RATE = 32, 150  # of a client: 0.4 of the link
# So many that the worth of the cache does not waver with the chance in the reads of its window.
MEMORY_KIB, MEMORY_RATE, MEMORY_STEP_RATE = 128, 600, 2000
MEMORY_READ_AHEAD_KIB = 32
MEMORY_DISK = {"Disk_Read_Queue": 32, "Disk_Write_Queue": 64, "K_Disk": 32}  # it is no spinning one there
DISK_KIB, DISK_CLIENTS = 8, 4
# Two reads in the queue of this disk are as many as its monitor calls full; to be slowed down takes more than it can serve.
DISK_RATE = {"disk": 40, "backend": 80}

WARM_UP_MIB = 128
BLOCK_BYTES = {"network": NETWORK_KIB << 10, "memory": MEMORY_KIB << 10, "disk": DISK_KIB << 10,
               "backend": DISK_KIB << 10}

# metric, is it good?, what is asked for
CRITERIA = (
    ("spearman", lambda v: v >= 0.9, "at least 0.9"),
    ("price_idle", lambda v: v <= 0.02, "at most 0.02"),
    ("price_saturated", lambda v: v >= 0.8, "at least 0.8"),
    ("price_stddev", lambda v: v <= 0.05, "at most 0.05"),
    ("step_seconds", lambda v: v <= 0.5, "at most 0.5"),
    ("bottleneck", lambda v: v >= 0.95, "named in at least 0.95 of the samples"),
)


@dataclass
class Trial:
    """One run of one case; all seconds are since the timeline's beginning."""
    case: Case
    prices: list   # what canfsctl said
    clients: list  # of each client: [(seconds, reads since the entry before)]
    server: list   # counters of the server
    stairs: list   # {load, mean, stddev} of the price
    metrics: dict


class PricesResults(Results):
    """The table says of each case whether it is as it should be."""

    def table(self):
        lines = [super().table(), ""]
        for case in dict.fromkeys(key[0] for key in self._values):
            for metric, is_good, asked in CRITERIA:
                value = self.median(case, "canfs", metric)
                lines.append(f"{case:9}{metric:17}{value:8.3f}  {'good' if is_good(value) else 'MISSED'}: "
                             f"{asked}")
        return "\n".join(lines)


def start_network(lab, case, link):
    """All read the same file, which is in the server's memory."""
    begin, end = case.step()
    at = time.monotonic() + START_SECONDS
    last = case.stair(len(case.loads) - 1)[1]
    return [Load(lab, link.enter(), "data", at=at, seed=number, span_mib=CACHED_MIB,
                 block_kib=NETWORK_KIB,
                 phases=f"{case.stair(number)[0]}-{last}:{NETWORK_RATE},{begin}-{end}:{NETWORK_RATE}")
            for number in range(len(case.loads))]


def start_memory(lab, case):
    """The client remembers as much as the server's cache holds, once the server has its buffers."""
    fill_server_cache(lab, WARM_UP_MIB, TIMEOUT_SECONDS)
    begin, end = case.step()
    phases = [f"{begin}-{end}:{MEMORY_STEP_RATE}:1"]
    for number, rereads in enumerate(case.loads):
        begin, end = case.stair(number)
        phases.append(f"{begin}-{end}:{MEMORY_RATE}:{rereads}")
    return [Load(lab, lab.network.enter(), "data", block_kib=MEMORY_KIB,
                 reread_mib=lab.server.cache_room_bytes() >> 20, phases=",".join(phases))]


def start_disk(lab, case):
    """One process per client and stair: each has its own span."""
    at = time.monotonic() + START_SECONDS
    rate = DISK_RATE[case.name]
    plan = [(case.stair(number), span) for number, span in enumerate(case.loads)]
    plan.append((case.step(), case.loads[-1]))
    loads = []
    for (begin, end), span in plan:
        for number in range(DISK_CLIENTS):
            shift = number / rate / DISK_CLIENTS  # or all would ask at the same moment
            loads.append(Load(lab, lab.network.enter(), "data", at=at + shift, seed=len(loads),
                              span_mib=span, block_kib=DISK_KIB, phases=f"{begin}-{end}:{rate}"))
    return loads


def run_trial(lab, case, link, options):
    server_options = (BACKEND_OPTIONS if case.name == "backend" else SERVER_OPTIONS) | options.server
    lab.disk.cold()
    lab.disk.control("mode=free")
    lab.disk.read_ahead(MEMORY_READ_AHEAD_KIB if case.name == "memory" else READ_AHEAD_KIB)
    if case.name == "network":
        server_options |= {"Interfaces": link.interface, "Link_Speed": link.mbit_per_sec}
    else:
        server_options |= {"Interfaces": "br0", "Link_Speed": 10000}
    if case.name == "memory":
        server_options |= MEMORY_DISK
    lab.start_server("CANFS", server_options)
    if case.name == "network":
        fill_server_cache(lab, CACHED_MIB, TIMEOUT_SECONDS)
    if case.name in ("disk", "backend"):
        fill_server_cache(lab, case.loads[0], TIMEOUT_SECONDS)
        lab.disk.model_on("flushcache reset")
    prices = canfs.PriceWatch(lab, PRICE_SECONDS)
    watch = ServerWatch(lab, link.interface)
    loads = []
    try:
        loads = start_network(lab, case, link) if case.name == "network" else \
            (start_memory if case.name == "memory" else start_disk)(lab, case)
        begin = min(load.wait_begin(TIMEOUT_SECONDS) for load in loads)
        for load in loads:
            load.wait(case.end() + TIMEOUT_SECONDS)
    finally:
        for load in loads:
            load.stop()
        lab.disk.control("mode=free")
        samples = [sample | {"seconds": round(sample["seconds"] + prices.begin - begin, 3)}
                   for sample in prices.stop()]
        counters = [sample | {"seconds": round(sample["at"] - begin, 3)} for sample in watch.stop()]
    lab.stop_server()
    trial = Trial(case, samples, [load.ops for load in loads], counters, [], {})
    judge(trial)
    return trial


def prices_between(trial, begin, end):
    return [sample for sample in trial.prices
            if begin <= sample["seconds"] < end and sample.get("write") is not None]


def ranks(values):
    """Those of equal values are their mean."""
    return [sum(other < value for other in values) + (values.count(value) - 1) / 2
            for value in values]


def spearman(left, right):
    """Of all equal values there is no rank: 0."""
    left, right = ranks(left), ranks(right)
    if len(set(left)) < 2 or len(set(right)) < 2:
        return 0.0
    return round(statistics.correlation(left, right), 6)


def step_seconds(trial, idle, saturated):
    """Until the price was half way up; the whole of the phase if it never was."""
    begin, end = trial.case.step()
    for sample in prices_between(trial, begin, end):
        if sample["write"] >= idle + HALF * (saturated - idle):
            return sample["seconds"] - begin
    return end - begin


def judge(trial):
    case = trial.case
    idle = [sample["write"] for sample in prices_between(trial, *case.idle())]
    loaded = []
    for number, load in enumerate(case.loads):
        begin, end = case.stair(number)
        samples = prices_between(trial, begin + case.settle_seconds, end)
        if len(samples) < 3 or len(idle) < 3:
            raise LabError(f"{case.name}: the server published hardly any prices")
        values = [sample["write"] for sample in samples]
        trial.stairs.append({"load": load, "mean": statistics.mean(values),
                             "stddev": statistics.pstdev(values)})
        loaded += [sample for sample in samples if sample["write"] >= BUSY]
    means = [statistics.mean(idle), *(stair["mean"] for stair in trial.stairs)]
    named = [sample["bottleneck"] == case.name for sample in loaded]
    trial.metrics = {
        "price_idle": means[0],
        "price_saturated": means[-1],
        "spearman": spearman(list(range(len(means))), [round(mean / TAG_STEP) for mean in means]),
        "price_stddev": max(stair["stddev"] for stair in trial.stairs),
        "step_seconds": step_seconds(trial, means[0], means[-1]),
        "bottleneck": sum(named) / len(named) if named else 0.0,
    }


def add(results, trial):
    for metric, value in trial.metrics.items():
        unit = "s" if metric == "step_seconds" else "1"
        results.add(trial.case.name, trial.case.device.format(disk=results.disk.name), "canfs", metric, unit, value)


def summary(trial):
    stairs = ", ".join(f"{s['load']:g}: {s['mean']:.3f} ± {s['stddev']:.3f}" for s in trial.stairs)
    return (f"price idle {trial.metrics['price_idle']:.3f}; at {trial.case.what} {stairs}; half a step "
            f"after {trial.metrics['step_seconds']:.2f} s")


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    names = [case.name for case in FULL]
    for name in options.cases:
        if name not in names:
            raise LabError(f"--case {name}: must be one of {', '.join(names)}")
    cases = [case for case in (QUICK if options.quick else FULL)
             if not options.cases or case.name in options.cases]
    results = PricesResults(NAME, options.disk)
    trials = []
    say("setting up: network, modelled disk, a 4 GB file")
    with Lab(build, disk=options.disk) as lab:
        link = Link(lab.network, LINK_MBIT)
        try:
            link.start()
            lab.disk.write_file("data", DATA_MB)
            for number in range(options.runs):
                for case in cases:
                    say(f"run {number + 1} of {options.runs}, {case.name}: {case.end():.0f} s")
                    trial = run_trial(lab, case, link, options)
                    say(f"run {number + 1} of {options.runs}, {case.name}: {summary(trial)}")
                    add(results, trial)
                    trials.append(trial)
                    if keep:
                        keep(trial)
        finally:
            link.stop()
    say(prices_plot.save(trials[-len(cases):], BLOCK_BYTES))
    return results
