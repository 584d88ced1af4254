# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the experiments of figures.py have in common: variants, the search for the best static setting, trials,
and what is asked for.

alone        as stock, without what disturbs (of few figures)
stock        kernel and Ganesha defaults
best-static  the same server; the clients' dirty limits and read-ahead searched for this very workload
canfs        CANFS on the server, canfs-agent on the clients"""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

from bench.experiments import best_static, canfs, figures_plot
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.host import wait_for
from bench.lab.lab import MOUNT_POINT, Lab, what_is_missing
from bench.lab.report import Results

VARIANTS = ("stock", "best-static", "canfs")
# What the agents are told; the parts of canfs are for those figures that take them apart.
OF_AGENTS = {"canfs": {}, "canfs-write-only": {"readahead": "off"}, "canfs-read-ahead-only": {"writeback": "off"}}
# A job may take so much longer than planned before the run is given up.
TIMEOUT_SECONDS = 240
SAMPLE_SECONDS = 0.2
COUNTERS = __file__.replace("experiments/figure.py", "lab/counters.py")


@dataclass(frozen=True)
class Asked:
    """Of the median of canfs: at most (or at least) so many times that of another variant or case, or just so
    much."""
    metric: str
    sense: str        # "at most", "at least"
    factor: float
    of: str = None    # a variant
    case: str = None  # None: each that has the metric
    of_case: str = None

    def verdict(self, results, case):
        """A line, or None if it was not measured."""
        relative = " of ".join(filter(None, (self.of, self.of_case)))
        value = results.median(case, "canfs", self.metric)
        other = results.median(self.of_case or case, self.of or "canfs", self.metric) if relative else 1
        if value is None or other is None or self.case not in (None, case):
            return None
        bound = self.factor * other
        good = value <= bound if self.sense == "at most" else value >= bound
        return (f"{case}, {self.metric}: {value:.4g} is {'good' if good else 'MISSED'}: {self.sense} {bound:.4g} is asked "
                f"for" + (f" ({self.factor:g} x {relative})" if relative else ""))


QUICK_COMPARES_NOTHING = "--quick shows that it runs: it is too short to compare variants, or cases"


def verdicts(results, asked_for, cases, quick):
    """The lines of what is asked for; of a quick run only what is asked for in itself."""
    if quick:
        asked_for = [asked for asked in asked_for if not asked.of and not asked.of_case]
    lines = [line for asked in asked_for for case in cases if (line := asked.verdict(results, case))]
    return [*lines, QUICK_COMPARES_NOTHING] if quick else lines


class AskedResults(Results):
    """Of trials with a value for each metric, and what is asked of them."""

    def __init__(self, name, options, units, asked=()):
        super().__init__(name, options.disk)
        self.quick, self.units, self.asked = options.quick, units, asked

    def add_trial(self, trial):
        for metric, value in trial.values.items():
            self.add(trial.case, self.disk.name, trial.variant, metric, self.units[metric], value)

    def table(self):
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        lines = verdicts(self, self.asked, cases, self.quick) if self.asked else []
        return "\n".join([super().table(), *([""] if lines else []), *lines])


@dataclass(frozen=True)
class Figure:
    """An experiment, as bench/run knows them."""
    NAME: str
    HELP: str
    prepare: Callable  # (lab, plan): makes what is in the export, once
    guests: Callable   # (plan): [Guest]
    work: Callable     # (session): {case: {metric: value}}
    units: dict        # of the metrics
    knobs: tuple       # that are searched for best-static, in this order: of best_static.LEVELS
    cost: Callable     # (what work returned): the less the better, for that search
    asked: tuple
    panels: tuple      # of the picture: figures_plot.PANELS, or a metric
    full: dict         # the plan
    quick: dict        # what is other with --quick
    Options: type = Options
    variants: tuple = VARIANTS
    levels: dict = field(default_factory=lambda: best_static.LEVELS)  # that are searched
    tuned: tuple = ()  # guests that best-static tunes; none: all
    reset: Callable = lambda lab, plan: None  # what is in the export, before each trial; the model is off
    what_is_missing: Callable = what_is_missing

    def plan(self, quick):
        return SimpleNamespace(**self.full | (self.quick if quick else {}))

    def run(self, build, options, say, keep=None):
        """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
        plan = self.plan(options.quick)
        check_names("variant", options.variants, self.variants)
        check_names("case", options.cases, plan.cases)
        results = FigureResults(self, options)
        say(f"setting up: network, {options.disk.describe()}, {plan.files}")
        with Lab(build, disk=options.disk) as lab:
            self.prepare(lab, plan)
            lab.disk.control("mode=free")
            Runner(self, lab, plan, options, say, keep or (lambda trial: None), results).run()
        say(figures_plot.save(self, results))
        return results


@dataclass
class Trial:
    """One run of one variant, with all that was seen."""
    figure: str
    variant: str
    setting: str
    values: dict              # {case: {metric: value}}
    details: dict             # of the figure: for its picture
    counters: dict            # {guest: [what counters.py said]}
    disk: dict
    prices: list
    agents: dict              # guest: what its agent logged


class FigureResults(Results):
    """The table says of what is asked for whether it was reached."""

    def __init__(self, figure, options):
        super().__init__(figure.NAME, options.disk)
        self.quick = options.quick
        self.figure = figure
        self.setting = None
        self.last = {}  # variant: its last trial

    def add_trial(self, trial):
        self.last[trial.variant] = trial
        for case, metrics in trial.values.items():
            for metric, value in metrics.items():
                self.add(case, self.disk.name, trial.variant, metric, self.figure.units[metric], value)

    def cases(self):
        return list(dict.fromkeys(key[0] for key in self._values))

    def table(self):
        lines = [super().table(), ""]
        if self.setting:
            lines.append(f"best-static is: {self.setting}")
        return "\n".join([*lines, *verdicts(self, self.figure.asked, self.cases(), self.quick)])


@dataclass
class Session:
    """A trial, as work() sees it."""
    lab: Lab
    plan: SimpleNamespace
    cases: tuple
    clients: list
    variant: str = "stock"
    details: dict = field(default_factory=dict)
    jobs: int = 0
    watches: dict = field(default_factory=dict)
    samples: dict = field(default_factory=dict)

    def wants(self, case):
        return not self.cases or case in self.cases

    def prepare(self, client, program, *words):
        """A job; program: one of ours, or of the host's."""
        self.jobs += 1
        path = self.lab.program(program) if program.startswith("canfs-") else program
        return client.prepare(f"job-{self.jobs}", path, *words)

    def together(self, *jobs, meanwhile=None):
        """Starts them at one instant; what each printed."""
        launch(jobs)
        if meanwhile:
            meanwhile()
        return [job.result(TIMEOUT_SECONDS) for job in jobs]

    def run(self, client, program, *words):
        """Its standard output."""
        job = self.prepare(client, program, *words)
        launch([job])
        return job.wait(TIMEOUT_SECONDS)

    def counters(self, client):
        return json.loads(self.run(client, COUNTERS, MOUNT_POINT))

    def watch(self):
        """What the clients count is sampled from now on."""
        self.watches = {client.name: client.run("counters", COUNTERS, MOUNT_POINT, SAMPLE_SECONDS)
                        for client in self.clients}
        for name, job in self.watches.items():
            wait_for(job.output_begun, TIMEOUT_SECONDS, f"{name}: the first of its counters")

    def counted(self):
        """{guest: samples}; the watch ends here."""
        for name, job in self.watches.items():
            if name not in self.samples:
                job.signal("TERM")
                self.samples[name] = [json.loads(line) for line in job.wait(TIMEOUT_SECONDS).splitlines()]
        return self.samples

    def forget(self, client):
        """What it has cached, for the next case of the same trial."""
        self.run(client, "sh", "-c", "echo 3 >/proc/sys/vm/drop_caches")


@dataclass
class Runner:
    figure: Figure
    lab: Lab
    plan: SimpleNamespace
    options: Options
    say: Callable
    keep: Callable
    results: FigureResults

    def run(self):
        """--quick measures each setting once, so that the search's trials are the results."""
        wanted = [variant for variant in self.figure.variants
                  if not self.options.variants or variant in self.options.variants]
        if self.options.quick:
            self.run_quick(wanted)
            return
        if "best-static" in wanted:
            self.search(self.figure.levels)
        for number in range(self.options.runs):
            for variant in self.options.in_turn(wanted, number):
                label = f"run {number + 1} of {self.options.runs}, {variant}"
                setting = self.results.setting if variant == "best-static" else best_static.STOCK
                self.results.add_trial(self.trial(variant, setting, label))

    def run_quick(self, wanted):
        stock = None
        for number in range(self.options.runs):
            label = f"run {number + 1} of {self.options.runs}"
            for variant in wanted:
                if variant == "best-static":
                    best = self.search(best_static.QUICK_LEVELS, stock)
                    trial = Trial(**vars(best) | {"variant": variant})
                else:
                    trial = self.trial(variant, best_static.STOCK, f"{label}, {variant}")
                stock = trial if variant == "stock" else stock
                self.results.add_trial(trial)

    def search(self, levels, stock=None):
        self.results.setting, trial = best_static.search(
            levels, self.figure.knobs, lambda setting: self.trial("search", setting, f"search, {setting}"),
            lambda trial: self.figure.cost(trial.values), self.say, stock)
        return trial

    def trial(self, variant, setting, label):
        self.say(f"{label}: running")
        try:
            trial = self.measure(variant, setting)
        finally:
            self.clean_up()
        self.say(f"{label}: {summary(trial)}")
        self.keep(trial)
        return trial

    def measure(self, variant, setting):
        lab, priced = self.lab, variant in OF_AGENTS
        self.figure.reset(lab, self.plan)
        canfs.start_server(lab, priced, self.options)
        clients = lab.start_clients(self.figure.guests(self.plan))
        lab.disk.cold()
        agents = canfs.start_agents(lab, clients, OF_AGENTS[variant] | self.options.agent) if priced else []
        prices = canfs.PriceWatch(lab) if priced else None
        session = Session(lab, self.plan, self.options.cases, clients, variant)
        for client in clients:
            if self.figure.tuned and client.name not in self.figure.tuned:
                continue
            for command in setting.commands():
                session.run(client, *command)
        session.watch()
        lab.disk.control("reset")
        values = self.figure.work(session)
        return Trial(self.figure.NAME, variant, str(setting), values, session.details, session.counted(),
                     lab.disk.stat(), prices.stop() if prices else [], canfs.stop_agents(agents))

    def clean_up(self):
        """Also after a trial that failed: another may come."""
        self.lab.end_trial()
        for path in self.lab.disk.mount.glob("out*"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def summary(trial):
    return "; ".join(f"{case}: " + ", ".join(f"{metric} {value:.4g}" for metric, value in metrics.items())
                     for case, metrics in trial.values.items())
