# SPDX-License-Identifier: LGPL-3.0-or-later
"""k-sensitivity (CA-NFS §4.1.2, Figure 6): what becomes of the throughput if k is not the one of the
table in pricing/market.c, but a sixteenth to sixteen times as much?

A reader (canfs-job-load --drop: at a fixed rate, and what it cannot read in time it never reads) keeps one
resource partly busy: half, not at all, a quarter, three quarters. Beside it a kernel client with canfs-agent writes
two files, and closes one while the reader pauses, the other while it is at work.

    reader  |  1/2  |    | 1/4  |   3/4    |
    writer   |=======| close
                         |============| close

So a writer that never defers disturbs the reader where it hurts most, and one that defers for ever has much left when it
closes, which it waits for, and the second time the reader, too.

network  The reader reads a cached file over a wire of known speed, which the writer shares.
disk     It reads at random on the modelled disk.
memory   It re-reads a list as long as the server's cache: the shares are those of the re-reads. What is
         written pushes out what would be read again.

Throughput is the work of both clients, each in units of what it does without an agent (stock):
(reads/s over stock + bytes/s, through close, over stock) / 2. A sum of bytes would be the writer's alone.
Only the k of the resource at stake changes; the others stay in the market at theirs.

Not the processors: clients, server and modelled disk share them here."""

import random
import time
from dataclasses import dataclass

from bench.experiments import canfs, k_sensitivity_plot
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.host import LabError
from bench.lab.lab import Guest, Lab
from bench.lab.load import SAMPLE_SECONDS, Load, fill_server_cache
from bench.lab.net import Link
from bench.lab.report import Results

NAME = "k-sensitivity"
HELP = "throughput against k of network, disk and memory (CA-NFS Figure 6)"
RUNS = 1
K_MIN = 1.1         # pricing/price.h
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16)
FACTORS_QUICK = (1 / 16, 1, 16)
NEAR = (0.5, 2)     # within these factors ...
NEAR_SHARE = 0.95   # ... there is at least this much of the best value
LINK_MBIT = 100
DATA_MB = 4000
CACHED_MIB = 64
MEMORY_RATE = 1000  # a miss costs more than the time between two
# The server's ghost caches remember the trial before: each begins so much farther in the file. When they come
# round it is forgotten.
FRESH_STEP_MIB, FRESH_END_MIB = 800, 3200
TIMEOUT_SECONDS = 60
STOCK = "stock"
# Below this price nothing is a bottleneck, and the name that comes with it is no finding.
BUSY = 0.05

# The share of the resource that the reader takes, and for how many seconds.
TIMELINE = ((1 / 2, 6.5), (0, 3.5), (1 / 4, 3), (3 / 4, 5.5))
QUICK_SCALE = 0.2  # of the seconds and of what the writer may hold
HOLD_PCT_MIN = 5   # canfs-agent.conf(5)
FILES = ((0.5, 7.5), (10, 16))  # when each is written


@dataclass(frozen=True)
class Case:
    resource: str
    device: str
    k: float             # of pricing/market.c
    guest_mib: int       # of the writer
    hold_pct: int        # of its agent
    writer_mb_per_sec: float
    block_kib: int       # of the reader
    full_per_sec: float  # so many reads take all of the resource
    lead_seconds: float  # from the reader's start to the timeline's: the agent starts in it
    disk: str            # what the modelled disk is told; device: which it is
    server: dict         # the CANFS block


SERVER_OPTIONS = {"Monitors": "network, disk, memory"}
WIDE = {"Interfaces": "br0", "Link_Speed": 10000}
LEAD_SECONDS = 2.5
CASES = (
    Case("network", "none", 64, 512, 15, 5.5, 32, 380, LEAD_SECONDS, "mode=free",
         {"Interfaces": Link.interface, "Link_Speed": LINK_MBIT}),
    Case("disk", "{disk}", 4, 1024, 35, 40, 8, 133, LEAD_SECONDS, "mode={device}", WIDE),
    # A store with so much to spare that it is not what is short, yet far slower than the cache. The worth of the
    # cache is an average over some seconds (CANFS_GHOSTS_TAU_SEC): it must be known when the writer begins.
    Case("memory", "{disk}-x4", 32, 1024, 35, 26, 32, 0, 8, "mode={device} scale=4",
         WIDE | {"Disk_Read_Queue": 32, "Disk_Write_Queue": 64}),
)


@dataclass
class Trial:
    """One run of one point, with all that was seen."""
    resource: str
    point: str     # the factor, or "stock"
    k: float
    busy_seconds: float
    reader: dict   # ops: [(second, reads)], p50_ms, p99_ms
    writer: list   # of each file
    disk: dict
    prices: list
    agents: dict


def factors(case):
    """Those that are possible; in place of the others the lowest that is."""
    lowest = K_MIN / case.k
    possible = [factor for factor in FACTORS if factor >= lowest]
    return possible if len(possible) == len(FACTORS) else [lowest, *possible]


def point_name(resource, factor):
    return f"{resource}-x{factor:g}"


def timeline(lead_seconds, scale):
    """[(begin, end, share)] of the reader's phases, seconds from its start."""
    phases, at = [], lead_seconds
    for share, seconds in TIMELINE:
        if share:
            phases.append((at, at + seconds * scale, share))
        at += seconds * scale
    return phases


def reader_phases(case, phases):
    """--phases of canfs-job-load."""
    if case.resource == "memory":  # the share is that of the re-reads, known before the timeline begins
        return ",".join(f"{begin}-{end}:{MEMORY_RATE}:{share}"
                        for begin, end, share in [(0, phases[0][0], phases[0][2]), *phases])
    return ",".join(f"{begin}-{end}:{case.full_per_sec * share}" for begin, end, share in phases)


def start_reader(lab, case, link, phases, number):
    enter = link.enter() if case.resource == "network" else lab.network.enter()
    options = {"block_kib": case.block_kib, "drop": True, "phases": reader_phases(case, phases)}
    if case.resource == "network":
        options["span_mib"] = CACHED_MIB
    if case.resource == "memory":
        options["fresh_mib"] = number * FRESH_STEP_MIB % FRESH_END_MIB
        options["reread_mib"] = lab.server.cache_room_bytes() >> 20
    return Load(lab, enter, "data", seed=7, **options)


class Session:
    """One server and one client with one resource at stake; k changes while they run."""

    def __init__(self, lab, case, link, options):
        self.lab, self.case, self.link, self.options = lab, case, link, options
        self.scale = QUICK_SCALE if options.quick else 1
        self.lead_seconds = max(LEAD_SECONDS, case.lead_seconds * self.scale)
        self.count = 0
        lab.start_server("CANFS", SERVER_OPTIONS | case.server | options.server)
        self.client = lab.start_clients([Guest("b", case.guest_mib)],
                                        link if case.resource == "network" else None)[0]
        serves = canfs.export_prices(lab)["resources"][case.resource]["k"]
        if serves != case.k:
            raise LabError(f"{case.resource}: the server's k is {serves:g}; the factors here are of {case.k:g}")

    def end(self):
        self.lab.disk.control("scale=1")
        self.lab.end_trial()

    def run(self, point):
        """point: a factor, or STOCK."""
        lab, case = self.lab, self.case
        self.count += 1
        k = case.k * (1 if point == STOCK else point)
        canfs.set_server(lab, **{f"k_{case.resource}": k})
        lab.disk.cold()
        lab.disk.control("mode=free")
        if case.resource == "network":
            fill_server_cache(lab, CACHED_MIB, TIMEOUT_SECONDS)
        phases = timeline(self.lead_seconds, self.scale)
        reader = start_reader(lab, case, self.link, phases, self.count)
        try:
            begin = reader.wait_begin(TIMEOUT_SECONDS) + self.lead_seconds
            lab.disk.control(case.disk.format(device=lab.disk.device) + " reset")
            agents = [] if point == STOCK else canfs.start_agents(
                lab, [self.client], self.agent_options(), f"agent-{self.count}", canfs.wait_for_verdict)
            writers = self.prepare_writers(begin)
            watch = canfs.PriceWatch(lab)
            launch(writers)
            reader.wait(TIMEOUT_SECONDS)
            written = [writer.result(TIMEOUT_SECONDS) for writer in writers]
        finally:
            reader.stop()
        prices = [sample | {"seconds": round(sample["seconds"] + watch.begin - begin, 3)}
                  for sample in watch.stop()]
        stat = lab.disk.stat()
        lab.disk.control("mode=free scale=1")
        # What came with the very beginning is of the lead.
        ops = [(round(at - self.lead_seconds, 3), count) for at, count in reader.ops
               if at - self.lead_seconds > SAMPLE_SECONDS / 2]
        trial = Trial(case.resource, point if point == STOCK else f"{point:g}", k,
                      sum(end - begin for begin, end, _ in phases), {"ops": ops} | reader.latency, written,
                      stat, prices, canfs.stop_agents(agents))
        for number in range(len(FILES)):
            self.out(number).unlink()
        return trial

    def agent_options(self):
        hold_pct = max(HOLD_PCT_MIN, round(self.case.hold_pct * self.scale))
        return {"hold_pct": hold_pct} | self.options.agent

    def out(self, number):
        return self.lab.disk.mount / f"out-{self.count}-{number}"

    def prepare_writers(self, timeline_begin):
        case, scale = self.case, self.scale
        left = timeline_begin - time.monotonic()
        if left < 0:
            raise LabError(f"the agent on {self.client.name} took longer than {self.lead_seconds} s to start")
        return [self.client.prepare(
            f"write-{self.count}-{number}", self.lab.program("canfs-job-write"), "--mb",
            round(case.writer_mb_per_sec * (end - begin) * scale), "--rate-mb", case.writer_mb_per_sec,
            "--begin", left + begin * scale, "--close-at", left + end * scale, self.lab.on_mount(self.out(number).name))
            for number, (begin, end) in enumerate(FILES)]


def measure(trial):
    """{metric: (unit, value)}"""
    loaded = [sample for sample in trial.prices
              if sample.get("write") is not None and sample["write"] >= BUSY]
    named = [sample for sample in loaded if sample["bottleneck"] == trial.resource]

    def total(name):
        return sum(file[name] for file in trial.writer)

    return {
        "reader_ops_per_s": ("1/s", sum(ops for _, ops in trial.reader["ops"]) / trial.busy_seconds),
        "reader_p99": ("ms", trial.reader["p99_ms"]),
        "writer_mb_per_s": ("MB/s", total("bytes") / 1e6 / total("seconds")),
        "writer_seconds": ("s", total("seconds")),
        "close_seconds": ("s", total("close_seconds")),
        "write_max": ("ms", max(file["write_max_ms"] for file in trial.writer)),
        "dirty_peak": ("bytes", max(file["dirty_peak_bytes"] for file in trial.writer)),
        "bottleneck": ("1", len(named) / len(loaded) if loaded else 0.0),
    }


def throughput(values, unit):
    """Of both clients, each in units of what it did there."""
    return sum(values[metric][1] / unit[metric][1]
               for metric in ("reader_ops_per_s", "writer_mb_per_s")) / 2


class SensitivityResults(Results):
    """The table says whether k is well chosen."""

    def rows(self):
        """In the order of the factors, which were measured in another one in each run."""
        names = [name for case in CASES for name in (case.resource, *(point_name(case.resource, factor) for factor in factors(case)))]
        return sorted(super().rows(), key=lambda row: names.index(row["case"]))

    def curve(self, case, metric="throughput"):
        """[(factor, value)]"""
        return [(factor, value) for factor in factors(case) if (value := self.median(
            point_name(case.resource, factor), "canfs", metric)) is not None]

    def curves(self):
        """{(resource, k): {metric: curve}}"""
        return {(case.resource, case.k): {metric: self.curve(case, metric)
                                          for metric, _ in k_sensitivity_plot.PARTS}
                for case in CASES if self.curve(case)}

    def verdict(self, case):
        """None if nothing was measured. A part of what is asked for is no verdict."""
        curve = self.curve(case)
        if not curve:
            return None
        head = f"{case.resource}, k = {case.k:g}, {len(curve)} of {len(factors(case))} factors"
        near = [value for factor, value in curve if NEAR[0] <= factor <= NEAR[1]]
        best, top = max(curve, key=lambda point: point[1])
        worst, bottom = min(curve, key=lambda point: point[1])
        range_text = f"best {top:.3f} at factor {best:g}, worst {bottom:.3f} at {worst:g}"
        if len(near) < sum(NEAR[0] <= factor <= NEAR[1] for factor in FACTORS):
            return f"{head}: no verdict, factors {NEAR[0]:g} to {NEAR[1]:g} are not complete; {range_text}"
        share = min(near) / top
        return (f"{head}: {'good' if share >= NEAR_SHARE else 'MISSED'}: within factors {NEAR[0]:g} to {NEAR[1]:g} "
                f"at least {share:.3f} of the best, {NEAR_SHARE} is asked for; {range_text}")

    def table(self):
        return "\n".join([super().table(), "", *filter(None, map(self.verdict, CASES))])


def wanted(case, options):
    points = factors(case)
    if options.quick and not options.cases:
        points = [max(factor, min(points)) for factor in FACTORS_QUICK]
    if options.cases and case.resource not in options.cases:
        points = [factor for factor in points if point_name(case.resource, factor) in options.cases]
    return points


def order(points, number, quick):
    """Another one in each run, or what changes with time would look like an effect of k. First comes the unit of
    throughput: stock; --quick has no time for it and takes the chosen k."""
    first = 1 if quick else STOCK
    return [first, *random.Random(number).sample([point for point in points if point != first],
                                                 len(points) - (first in points))]


def summary(trial, values):
    shown = ", ".join(f"{name} {value:.3g} {unit}" for name, (unit, value) in values.items())
    return f"{trial.resource}, k = {trial.k:g} ({trial.point}): {shown}"


def run_case(session, points, results, tell):
    """tell(trial, values) gets every trial. The first of the points is the unit of throughput."""
    case, unit = session.case, None
    for point in points:
        trial = session.run(point)
        values = measure(trial)
        unit = unit or values
        values["throughput"] = ("1", throughput(values, unit))
        name, variant = (case.resource, STOCK) if point == STOCK else (
            point_name(case.resource, point), "canfs")
        for metric, (unit_name, value) in values.items():
            results.add(name, case.device.format(disk=results.disk.name), variant, metric, unit_name, value)
        tell(trial, values)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, [name for case in CASES for name in (
        case.resource, *(point_name(case.resource, factor) for factor in factors(case)))])
    results = SensitivityResults(NAME, options.disk)

    def tell(trial, values):
        say(f"run {number + 1} of {options.runs}, {summary(trial, values)}")
        if keep:
            keep(trial)
    say("setting up: network, modelled disk, a 4 GB file")
    with Lab(build, disk=options.disk) as lab:
        link = Link(lab.network, LINK_MBIT, taps=1)
        try:
            link.start()
            lab.disk.write_file("data", DATA_MB)
            for number in range(options.runs):
                for case in CASES:
                    if not wanted(case, options):
                        continue
                    session = Session(lab, case, link, options)
                    run_case(session, order(wanted(case, options), number, options.quick), results, tell)
                    session.end()
        finally:
            link.stop()
    say(k_sensitivity_plot.save(results.curves(), NEAR, NEAR_SHARE))
    return results
