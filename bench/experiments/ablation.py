# SPDX-License-Identifier: LGPL-3.0-or-later
"""ablation: what a part of the prefetcher is worth, by taking it away (Ellard & Seltzer Figures 6 to 8, without disk and
time): readers in turn, whose READs of 64 KiB are put to the prefetcher's own table (canfs-replay).

canfs       as it is
one-cursor  a cursor for each file and no pool of more: what SlowDown has without cursors (§7)
table-16    of 16 and of 64 active files: an nfsheur that is too small (§6.3)
table-64

and to what the paper compares (nfsheur.py):

always                read-ahead hard-wired
default, slowdown     the two heuristics, with a table that is large enough
default-old-table, slowdown-old-table   with FreeBSD's of 64 entries

`coverage` is the share of what was read that was fetched before. What Linux makes of the same readers is stock in `heuristics`
(readings.py)."""

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from bench.experiments import figures_plot, nfsheur, reading_plot
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.lab.host import LabError
from bench.lab.report import Results

NAME = "ablation"
HELP = "the prefetcher without cursors, or with a small table of active files (Ellard & Seltzer Figures 6 to 8)"
RUNS = 1  # nothing here is left to chance
DISK_OPTIONS_REFUSED = ("device", "scheduler", "filesystem", "backend")
SEED = 7
READ_BYTES = 64 << 10
BLOCKS = 4096  # of all files together, but each has at least BLOCKS_EACH
BLOCKS_EACH = 64
OURS = {"canfs": (), "one-cursor": ("--cursors", 0), "table-16": ("--files", 16), "table-64": ("--files", 64)}  # of canfs-replay
PAPERS = {"always": (nfsheur.always, nfsheur.LARGE_TABLE), "default": (nfsheur.default, nfsheur.LARGE_TABLE),
          "slowdown": (nfsheur.slowdown, nfsheur.LARGE_TABLE), "default-old-table": (nfsheur.default, nfsheur.OLD_TABLE),
          "slowdown-old-table": (nfsheur.slowdown, nfsheur.OLD_TABLE)}
VARIANTS = (*OURS, *PAPERS)
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
    """All readers in turn: [(file, offset, bytes, bytes of the file)]"""
    blocks = max(BLOCKS_EACH, BLOCKS // case.readers)
    orders = [order(case, blocks, SEED + reader) for reader in range(case.readers)]
    return [(reader + 1, block * READ_BYTES, READ_BYTES, blocks * READ_BYTES)
            for turn in zip(*orders) for reader, block in enumerate(turn)]


def replay(program, reads, variant):
    """What canfs-replay prints, or what of it nfsheur.py has."""
    if variant in PAPERS:
        return nfsheur.replay(reads, *PAPERS[variant])
    text = "".join(f"{' '.join(map(str, read))}\n" for read in reads)
    done = subprocess.run([program, *map(str, OURS[variant])], input=text, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise LabError(f"canfs-replay: {done.stderr.strip()}")
    return json.loads(done.stdout)


class AblationResults(Results):
    def table(self):
        return "\n".join([super().table(), "", *verdicts(self, ASKED, list(CASES), quick=False)])


def coverage(prefix, variants):
    return reading_plot.by_readers(prefix, variants=variants, metric="coverage", label="coverage")


PICTURE = SimpleNamespace(NAME=NAME, HELP=HELP, panels=(coverage("reordered", ("canfs", *PAPERS)), coverage("reordered", tuple(OURS)),
                                                        coverage("stride", VARIANTS)))


def run(build, options, say, keep=None):
    """Returns Results."""
    program = Path(build).resolve() / "bench" / "canfs-replay"
    if not program.exists():
        raise LabError(f"{program} is not built")
    check_names("case", options.cases, list(CASES))
    check_names("variant", options.variants, VARIANTS)
    results = AblationResults(NAME)
    for name, case in CASES.items():
        if name not in (options.cases or CASES):
            continue
        reads = trace(case)
        for variant in VARIANTS:
            if variant not in (options.variants or VARIANTS):
                continue
            seen = replay(program, reads, variant)
            for metric, unit in METRICS.items():
                results.add(name, "none", variant, metric, unit, seen[metric])
            if keep:
                keep(Trial(name, variant, seen))
    say(figures_plot.save(PICTURE, results))
    return results
