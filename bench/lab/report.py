# SPDX-License-Identifier: LGPL-3.0-or-later
"""Results: rows for machines, tables for people. A row is one metric of one case and variant over
all runs; the names are the same in every experiment, so that results can be put side by side."""

import json
import statistics
from collections import defaultdict
from pathlib import Path

RESULTS_DIRECTORY = Path(__file__).resolve().parent.parent / "results"  # for pictures


class Results:
    def __init__(self, experiment, disk=None):
        """disk: the DiskSettings, where it matters what disk it was."""
        self.experiment = experiment
        self.disk = disk
        self.about = {}  # what else is to be in the JSON, for all rows
        self._values = defaultdict(list)  # (case, device, variant, metric, unit): one per run

    def add(self, case, device, variant, metric, unit, value):
        self._values[case, device, variant, metric, unit].append(value)

    def rows(self):
        names = ("case", "device", "variant", "metric", "unit")
        return [dict(zip(names, key), median=statistics.median(values), min=min(values),
                     max=max(values), n=len(values)) for key, values in self._values.items()]

    def median(self, case, variant, metric):
        """None if it was not measured."""
        for (a_case, _, a_variant, a_metric, _), values in self._values.items():
            if (a_case, a_variant, a_metric) == (case, variant, metric):
                return statistics.median(values)
        return None

    def missed(self):
        """Is it an error if what was asked for was not reached? Not where that is a finding."""
        return False

    def write_json(self, path):
        with open(path, "w", encoding="ascii") as file:
            json.dump({"experiment": self.experiment, **self.about, "rows": self.rows()}, file, indent=1)
            file.write("\n")

    def table(self):
        """A line per case and metric, a column per variant: median (min ... max)."""
        variants = list(dict.fromkeys(key[2] for key in self._values))
        lines = list(dict.fromkeys((key[0], key[3], key[4]) for key in self._values))
        cells = [["case", "metric", "unit", *variants]]
        for case, metric, unit in lines:
            row = [case, metric, unit]
            for variant in variants:
                values = next((v for k, v in self._values.items()
                               if (k[0], k[2], k[3]) == (case, variant, metric)), None)
                row.append(_cell(values))
            cells.append(row)
        widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
        return "\n".join("  ".join(word.ljust(width) if i < 3 else word.rjust(width)
                                   for i, (word, width) in enumerate(zip(row, widths))).rstrip()
                         for row in cells)


def number(value):
    if value != value or abs(value) >= 1e6:
        return f"{value:.3g}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _cell(values):
    if not values:
        return "-"
    text = number(statistics.median(values))
    if len(values) > 1:
        text += f" ({number(min(values))} ... {number(max(values))})"
    return text


BARS = " ▁▂▃▄▅▆▇█"


def bars(values, top):
    """One character per value, its height out of `top`; None is a gap."""
    def bar(value):
        if value is None:
            return " "
        return BARS[max(0, min(8, round(8 * value / top)))] if top > 0 else BARS[0]
    return "".join(bar(value) for value in values)
