# SPDX-License-Identifier: LGPL-3.0-or-later
"""herd: many clients and one server, simulated (canfs-herd; doc/herd.md says how): does the law by which
the agent paces its write-back keep the server busy, its queue short, its writers running and its clients
equal? Clients ask for prices that are 0.1 s or 1 s old, or are pushed those of each 0.1 s; all together they write 80 % or
110 % of what the server's disk drains. And does what one client holds back leave smoothly, beside a reader that keeps the
server expensive by turns (a miniature of writeback-cdf)? And of clients that are alike, do the same ones wait again and
again, in an hour?

The prices are those of pricing/, the agent's law is client-agent/auction/pace.c itself. It needs neither root nor
the lab; a trial depends on its seed alone."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from bench.experiments import herd_plot
from bench.experiments.options import Options
from bench.lab.host import LabError, run as run_command
from bench.lab.report import Results

NAME = "herd"
HELP = "2 to 10,000 simulated clients of one server: backlog, unused drain, blocked writers, fairness, smoothness, " \
       "prices asked for and pushed"
DISK_OPTIONS_REFUSED = ("device", "scheduler", "filesystem", "backend")
CLIENTS = (2, 8, 64, 1000, 10000)
LOADS_PCT = (80, 110)
PRICE_AGES_MSEC = (100, 1000)
SECONDS = 60
EQUALS, EQUALS_LOADS_PCT, EQUALS_SECONDS = (2, 8, 64), (90, 110), 3600
STOCK, CHOSEN = "stock", "taper"
LAWS = (STOCK, "threshold", "margin", "aimd", "doubling", "commit", "ageless", CHOSEN)
LAWS_QUICK = (STOCK, "threshold", "doubling", CHOSEN)
LAWS_PUSHED = ("threshold", CHOSEN)  # is a switch more of a herd when all are told at once?
BESIDE_READER = "beside-reader"
PUSHED = "push"  # instead of an age: pushed, every PRICE_AGES_MSEC[0]
METRICS = (("backlog_p99_mb", "backlog_p99", "MB"), ("unused_pct", "idle", "share"),
           ("blocked_sec", "blocked_seconds", "s"), ("fairness", "fairness", "index"),
           ("throughput_mb_per_sec", "throughput", "MB/s"),
           ("peak_over_mean", "peak_over_mean", "1"), ("expensive_pct", "sent_while_expensive", "share"),
           ("deferred_fairness", "fairness_deferred", "index"), ("served_fairness", "fairness_served", "index"),
           ("deferred_sec", "deferred_seconds", "s"))
SCALE = {"unused_pct": 0.01, "expensive_pct": 0.01}
# metric, is it good beside stock's?, what is asked for
CRITERIA = (
    ("backlog_p99", lambda v, stock: v <= 100, "at most 100 MB"),
    ("idle", lambda v, stock: v <= 0.1, "at most 0.1"),
    ("blocked_seconds", lambda v, stock: v <= stock, "not above stock's"),
    ("fairness", lambda v, stock: v >= 0.95, "at least 0.95"),
    ("peak_over_mean", lambda v, stock: v <= 3, "at most 3"),
    ("fairness_deferred", lambda v, stock: v >= 0.95, "at least 0.95"),
    ("fairness_served", lambda v, stock: v >= 0.95, "at least 0.95"),
)


def what_is_missing():
    """It needs neither root nor the lab."""


@dataclass
class Trial:
    law: str
    clients: int  # 0: one, beside a reader
    load_pct: int
    price_age_msec: int | str  # or PUSHED
    seed: int
    alike: bool = False  # the clients, for an hour
    seen: dict = None  # what canfs-herd printed

    def case(self):
        if not self.clients:
            return BESIDE_READER
        return f"{'equals' if self.alike else 'clients'}-{self.clients}-load-{self.load_pct}"

    def variant(self):
        """Stock knows no prices; those of 100 ms, asked for, are the usual ones."""
        return self.law if self.price_age_msec == PRICE_AGES_MSEC[0] else f"{self.law}@{self.price_age_msec}"

    def arguments(self):
        prices = f"push:{PRICE_AGES_MSEC[0]}" if self.price_age_msec == PUSHED else self.price_age_msec
        if not self.clients:
            return "--reader", self.law, prices, self.seed
        words = self.law, self.clients, self.load_pct, prices, self.seed
        return ("--equals", *words, EQUALS_SECONDS) if self.alike else (*words, SECONDS)


class HerdResults(Results):
    """The table says of each case whether the chosen law does what is asked for."""

    def table(self):
        lines = [super().table(), ""]
        for variant in (CHOSEN, *(f"{CHOSEN}@{prices}" for prices in (PRICE_AGES_MSEC[1], PUSHED))):
            for case in dict.fromkeys(key[0] for key in self._values if key[2] == variant):
                lines += self._judge(case, variant)
        return "\n".join(lines)

    def _judge(self, case, variant):
        for metric, is_good, asked in CRITERIA:
            value = self.median(case, variant, metric)
            stock = self.median(case, STOCK, metric)
            if value is None or stock is None and asked.endswith("stock's"):
                continue
            verdict = "good" if is_good(value, stock) else "MISSED"
            yield f"{case:23}{variant:12}{metric:18}{value:8.3f}  {verdict}: {asked}"


def variants(laws):
    """Each law, and how it hears of prices."""
    asked = [(law, age) for age in PRICE_AGES_MSEC for law in laws if law != STOCK or age == PRICE_AGES_MSEC[0]]
    return asked + [(law, PUSHED) for law in laws if law in LAWS_PUSHED]


def plan(options):
    laws = LAWS_QUICK if options.quick else LAWS
    seeds = range(1, options.runs + 1)
    trials = [Trial(law, clients, load, age, seed)
              for clients, load in [*product(CLIENTS, LOADS_PCT), (0, 0)] for law, age in variants(laws) for seed in seeds]
    trials += [Trial(law, clients, load, age, seed, alike=True)
               for clients, load in product(EQUALS, EQUALS_LOADS_PCT)
               for law, age in variants((STOCK, CHOSEN)) if age != PRICE_AGES_MSEC[1] for seed in seeds]
    for given, known in ((options.cases, {t.case() for t in trials}),
                         (options.variants, {t.variant() for t in trials})):
        unknown = set(given) - known
        if unknown:
            raise LabError(f"{', '.join(sorted(unknown))}: unknown; there are {', '.join(sorted(known))}")
    return [t for t in trials if (not options.cases or t.case() in options.cases)
            and (not options.variants or t.variant() in options.variants)]


def simulate(program, trial):
    trial.seen = json.loads(run_command("nice", "-n", 19, program, *trial.arguments(), timeout=300))
    return trial


def run(build, options, say, keep=None):
    program = Path(build).resolve() / "bench/canfs-herd"
    if not program.exists():
        raise LabError(f"{program} is not built")
    trials = plan(options)
    say(f"{len(trials)} trials, of {SECONDS} simulated seconds, or of {EQUALS_SECONDS}")
    results = HerdResults(NAME)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # each waits for a process
        for trial in pool.map(lambda t: simulate(program, t), trials):
            for key, metric, unit in (row for row in METRICS if row[0] in trial.seen):
                results.add(trial.case(), "none", trial.variant(), metric, unit,
                            trial.seen[key] * SCALE.get(key, 1))
            if keep:
                keep(trial)
    for line in herd_plot.save([asdict(trial) | {"variant": trial.variant()} for trial in trials], results):
        say(line)
    return results
