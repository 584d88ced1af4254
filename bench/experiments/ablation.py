# SPDX-License-Identifier: LGPL-3.0-or-later
"""ablation: what a part of the prefetcher is worth, by taking it away (Ellard & Seltzer Figures 6 to 8, without disk and
time): readers in turn, whose READs of 64 KiB are put to the prefetcher's own table (canfs-replay).

canfs       as it is
one-cursor  a cursor for each file and no pool of more: what SlowDown has without cursors (§7)
table-16    of 16 and of 64 active files: an nfsheur that is too small (§6.3)
table-64

`coverage` is the share of what was read that was fetched before; without read-ahead it is 0, with the paper's "always read-ahead"
1, by definition. SlowDown itself (§6.2) has no switch: a new cursor takes eight reads out of order, and learns how many more it
must. So the paper's "default" heuristic, which takes none, is not among the variants; what Linux makes of the same readers is
stock in `heuristics` (readings.py)."""

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from bench.experiments import figures_plot, reading_plot
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.lab.host import LabError
from bench.lab.report import Results

NAME = "ablation"
HELP = "the prefetcher without cursors, or with a small table of active files (Ellard & Seltzer Figures 6 to 8)"
RUNS = 1  # nothing here is left to chance
DISK_OPTIONS_REFUSED = ("device", "scheduler", "filesystem")
SEED = 7
READ_BYTES = 64 << 10
BLOCKS = 4096  # of all files together, but each has at least BLOCKS_EACH
BLOCKS_EACH = 64
VARIANTS = {"canfs": (), "one-cursor": ("--cursors", 0), "table-16": ("--files", 16), "table-64": ("--files", 64)}
NUMBERS = (1, 2, 4, 8, 16, 32, 128)
METRICS = {"coverage": "1", "waste": "1"}
ASKED = (Asked("coverage", "at least", 0.9), Asked("waste", "at most", 0.05))


@dataclass(frozen=True)
class Case:
    readers: int = 1
    out_of_order_percent: int = 0  # swapped with the one after it
    streams: int = 1               # of each reader, in turn: a stride


CASES = {f"in-order-{n}": Case(n) for n in NUMBERS} | {f"reordered-{n}": Case(n, 6) for n in NUMBERS} | \
        {f"stride-{s}": Case(streams=s) for s in (2, 4, 8)}


@dataclass
class Trial:
    case: str
    variant: str
    seen: dict


def what_is_missing():
    """It needs neither root nor the lab."""


def order(case, blocks, seed):
    """Of one reader's blocks."""
    part = blocks // case.streams
    found = [i % case.streams * part + i // case.streams for i in range(part * case.streams)]
    chance, i = random.Random(seed), 0
    while i + 1 < len(found):
        # a swap uses up two blocks, of which both are out of order
        if chance.randrange(200 - case.out_of_order_percent) < case.out_of_order_percent:
            found[i:i + 2] = reversed(found[i:i + 2])
            i += 1
        i += 1
    return found


def trace(case):
    """All readers in turn."""
    blocks = max(BLOCKS_EACH, BLOCKS // case.readers)
    orders = [order(case, blocks, SEED + reader) for reader in range(case.readers)]
    return "".join(f"{reader + 1} {block * READ_BYTES} {READ_BYTES} {blocks * READ_BYTES}\n"
                   for turn in zip(*orders) for reader, block in enumerate(turn))


def replay(program, text, words):
    done = subprocess.run([program, *map(str, words)], input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise LabError(f"canfs-replay: {done.stderr.strip()}")
    return json.loads(done.stdout)


class AblationResults(Results):
    def table(self):
        return "\n".join([super().table(), "", *verdicts(self, ASKED, list(CASES), quick=False)])


def coverage(*prefixes):
    return reading_plot.by_readers(*prefixes, variants=tuple(VARIANTS), metric="coverage", label="coverage")


PICTURE = SimpleNamespace(NAME=NAME, HELP=HELP, panels=(coverage("in-order", "reordered"), coverage("stride")))


def run(build, options, say, keep=None):
    """Returns Results."""
    program = Path(build).resolve() / "bench" / "canfs-replay"
    if not program.exists():
        raise LabError(f"{program} is not built")
    check_names("case", options.cases, list(CASES))
    check_names("variant", options.variants, list(VARIANTS))
    results = AblationResults(NAME)
    for name, case in CASES.items():
        if name not in (options.cases or CASES):
            continue
        text = trace(case)
        for variant, words in VARIANTS.items():
            if variant not in (options.variants or VARIANTS):
                continue
            seen = replay(program, text, words)
            for metric, unit in METRICS.items():
                results.add(name, "none", variant, metric, unit, seen[metric])
            if keep:
                keep(Trial(name, variant, seen))
    say(figures_plot.save(PICTURE, results))
    return results
