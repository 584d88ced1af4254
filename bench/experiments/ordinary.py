# SPDX-License-Identifier: LGPL-3.0-or-later
"""ordinary: is ordinary work ever slower with canfs? The judge of every change to prefetcher, scheduler, market and agent.

It runs the cases of other experiments with stock and canfs in turn, on the disk and file system that are asked for, and judges each row:

    throughput, ops_per_s ...   at least 0.97 of stock
    seconds                     at most 1 / 0.97 of stock, or 0.5 s more
    p99, close_p99              at most 1.15 of stock, or 2 ms more

Processor time is for bench/run overhead, which pairs slices of 10 ms: that of whole trials differs by a tenth.

A row that misses its bound in fewer than RUNS_TO_BLAME runs, or while the runs of both variants overlap, is undecided: its experiment runs again, up to TRIES times or until
that has taken AGAIN_SECONDS, and all runs count. An experiment that fails (a guest that hangs, say) is repeated as well, and the table names the failure. The table begins with the worst row and ends with
the number of rows that are worse. A case is EXPERIMENT:CASE."""

import time
from dataclasses import dataclass, replace

from bench.experiments import database, filebench, iozone, loads, stable, tree
from bench.experiments.figures import FIGURES
from bench.experiments.options import Options
from bench.experiments.readings import READINGS
from bench.experiments.rounds import chosen
from bench.lab.host import LabError
from bench.lab.report import Results, number

NAME = "ordinary"
HELP = "every ordinary load with stock and with canfs; says which is worse"
VARIANTS = ("stock", "canfs")
TRIES = 5
RUNS_TO_BLAME = 5  # by three, noise alone blamed four readers of memory: 0.87, and 1.01 of seven
AGAIN_SECONDS = 600  # one more make by four clients takes 16 minutes: they must untar first
RUNS_QUICK = 2

_BY_NAME = {module.NAME: module for module in (*FIGURES, *READINGS, iozone.FIGURE, database.FIGURE, filebench, stable, tree, loads)}


@dataclass(frozen=True)
class Bound:
    """canfs over stock."""
    ratio: float
    lower_is_better: bool
    more: float = 0  # in the metric's unit: so much more is never worse

    def is_kept(self, stock, canfs):
        if not self.lower_is_better:
            return canfs >= self.ratio * stock
        return canfs <= max(self.ratio * stock, stock + self.more)

    def badness(self, stock, canfs):
        """1: as stock; the larger, the worse."""
        if min(stock, canfs) <= 0:
            return 1
        return canfs / stock if self.lower_is_better else stock / canfs


AT_LEAST, LATENCY = Bound(0.97, False), Bound(1.15, True, 2)
BOUNDS = {"throughput": AT_LEAST, "ops_per_s": AT_LEAST, "files_per_s": AT_LEAST, "seconds": Bound(1 / 0.97, True, 0.5),
          "p99": LATENCY, "close_p99": LATENCY}


@dataclass(frozen=True)
class Group:
    experiment: str
    cases: tuple
    quick: tuple = ()  # of these, with --quick


GROUPS = (
    Group("readers", (*(f"readers-{n}" for n in (1, 2, 4, 8, 16)), "shared-8", "kernel-readers-2", "kernel-readers-8"),
          ("readers-1", "readers-4", "kernel-readers-2")),
    Group("random", ("random", "random-8k"), ("random",)),
    Group("reorder", ("swap-2", "busy-client")),
    Group("loads", tuple(loads.CASES), ("write-clients-1", "random-rewrite", "walk-cold")),
    Group("rewrite", ("sequential-wsize-64k", "random-wsize-4k", "random-wsize-64k"), ("random-wsize-64k",)),
    Group("copy", ("tree",), ("tree",)),
    Group("iozone", iozone.cases((4, 32)), ("write-4k", "rewrite-4k", "read-4k")),
    Group("stable", ("ext4-clients-1", "ext4-clients-8"), ("ext4-clients-1",)),
    Group("tree", tuple(tree.case_name(step, count) for count in (1, 4) for step in tree.STEPS), ("untar-clients-1",)),
    Group("filebench", tuple(f"{name}-clients-{count}" for name in ("fileserver", "varmail", "webserver", "webproxy", "oltp")
                             for count in (1, 8)), ("fileserver-clients-1", "webserver-clients-8")),
)
CASES = tuple(f"{group.experiment}:{case}" for group in GROUPS for case in group.cases)


@dataclass
class Row:
    case: str
    metric: str
    unit: str
    stock: list
    canfs: list

    @property
    def bound(self):
        return BOUNDS[self.metric]

    def _medians(self):
        return tuple(sorted(values)[len(values) // 2] for values in (self.stock, self.canfs))

    def badness(self):
        return self.bound.badness(*self._medians())

    def verdict(self):
        """good, WORSE, or undecided: it misses its bound, but not in every run, or in too few."""
        if self.bound.is_kept(*self._medians()):
            return "good"
        if len(self.canfs) < RUNS_TO_BLAME:
            return "undecided"
        best, worst = (min, max) if self.bound.lower_is_better else (max, min)
        return "undecided" if self.bound.is_kept(worst(self.stock), best(self.canfs)) else "WORSE"

    def __str__(self):
        def cell(values):
            return f"{number(sorted(values)[len(values) // 2])} ({number(min(values))} ... {number(max(values))})"
        stock, canfs = self._medians()
        ratio = canfs / stock if stock else float("nan")
        return (f"{self.verdict():9}  {ratio:5.2f}  {self.case:40} {self.metric:11} {self.unit:5} "
                f"{cell(self.stock):>28} -> {cell(self.canfs):>28}  n = {len(self.canfs)}")


class OrdinaryResults(Results):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.failures = []

    def lines(self):
        """[Row], the worst first."""
        found = {}
        for (case, _, variant, metric, unit), values in self._values.items():
            if metric in BOUNDS:
                found.setdefault((case, metric, unit), {})[variant] = values
        rows = [Row(*key, values["stock"], values["canfs"]) for key, values in found.items() if set(VARIANTS) <= set(values)]
        order = ("WORSE", "undecided", "good")
        return sorted(rows, key=lambda row: (order.index(row.verdict()), -row.badness()))

    def lines_of(self, experiment):
        return [row for row in self.lines() if row.case.startswith(f"{experiment}:")]

    def undecided(self, experiment):
        return sorted({row.case.partition(":")[2] for row in self.lines_of(experiment) if row.verdict() == "undecided"})

    def table(self):
        rows = self.lines()
        count = {verdict: sum(row.verdict() == verdict for row in rows) for verdict in ("WORSE", "undecided", "good")}
        return "\n".join([*map(str, rows), "", *self.failures, f"{len(rows)} rows: {count['WORSE']} worse than stock, "
                                               f"{count['undecided']} that the noise does not decide, {count['good']} good"])

    def take(self, experiment, results):
        for (case, device, variant, metric, unit), values in results._values.items():
            for value in values:
                self.add(f"{experiment}:{case}", device, variant, metric, unit, value)

    def missed(self):
        return bool(self.failures) or any(row.verdict() == "WORSE" for row in self.lines())


def what_is_missing():
    return next(filter(None, (getattr(_BY_NAME[group.experiment], "what_is_missing", lambda: None)() for group in GROUPS)), None)


def cases_of(group, options):
    wanted = group.quick if options.quick and not options.cases else group.cases
    return tuple(case for case in wanted if not options.cases or f"{group.experiment}:{case}" in options.cases)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    chosen("case", options.cases, CASES)
    results, begin = OrdinaryResults(NAME, options.disk), time.monotonic()
    for group in GROUPS:
        cases, experiment = cases_of(group, options), _BY_NAME[group.experiment]
        first_done = None
        for attempt in range(TRIES):
            if not cases or (first_done and time.monotonic() - first_done > AGAIN_SECONDS):
                break
            say(f"{group.experiment}: {', '.join(cases)}" + (f", again ({attempt + 1} of {TRIES})" if attempt else ""))
            own = replace(experiment.Options(), runs=options.runs, quick=False, cases=cases, variants=VARIANTS,
                          agent=options.agent, server=options.server, disk=options.disk, filebench=options.filebench,
                          first_run=attempt * options.runs)
            try:
                results.take(group.experiment, experiment.run(build, own, lambda text: say(f"  {text}"), keep))
            except LabError as error:
                results.failures.append(f"{group.experiment} failed: {error}")
                say(results.failures[-1])
                continue
            finally:
                first_done = first_done or time.monotonic()
            for row in results.lines_of(group.experiment):
                if row.verdict() != "good":
                    say(f"  {row}")
            cases = tuple(case for case in cases if case in results.undecided(group.experiment))
    say(f"{time.monotonic() - begin:.0f} s")
    return results
