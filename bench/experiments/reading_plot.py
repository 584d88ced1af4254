# SPDX-License-Identifier: LGPL-3.0-or-later
"""Panels of the pictures of readings.py that figures_plot.py does not have."""

from bench.experiments.figures_plot import COLOURS

STYLES = ("-", "--", ":", "-.")


def finish_times(trial):
    """When each reader of the first group had all of its file: ascending."""
    return sorted(reader["finish_seconds"] for reader in next(iter(trial.seen.values()))["readers"])


def finishes(tags):
    """Ellard & Seltzer Figure 3, of the cases with tagged queueing, or of those without: a level line is a fair server, a low
    one a fast server."""
    def draw(axes, results):
        for (case, variant), trial in results.last.items():
            if case.endswith("-tags") == tags:
                times = finish_times(trial)
                axes.plot(range(1, len(times) + 1), times, marker="o", label=f"{case}, {variant}")
        axes.set_xlabel(f"readers that have ended, {'with' if tags else 'without'} tagged queueing")
        axes.set_ylabel("seconds")
        axes.set_ylim(bottom=0)
        legend(axes)
    return draw


def points(rows, prefix, variant, metric="throughput"):
    """[(readers, median)] of the cases PREFIX-N, ascending."""
    found = {row["case"].removeprefix(f"{prefix}-"): row["median"] for row in rows
             if row["metric"] == metric and row["variant"] == variant and row["case"].startswith(f"{prefix}-")}
    return sorted((int(number), median) for number, median in found.items() if number.isdigit())


def by_readers(*prefixes, variants=COLOURS, metric="throughput", label="throughput, MB/s"):
    """By the number of readers, of the cases PREFIX-N: a line for each prefix and variant."""
    def draw(axes, results):
        for prefix, style in zip(prefixes, STYLES):
            for place, variant in enumerate(variants):
                found = points(results.rows(), prefix, variant, metric)
                if found:
                    # The first is the widest: lines on top of each other are both seen.
                    axes.plot(*zip(*found), style, marker=".", linewidth=max(1, 4 - place), color=COLOURS.get(variant, f"C{place}"), label=f"{prefix}, {variant}")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.set_xlabel("readers, or streams")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        legend(axes)
    return draw


def legend(axes):
    """Not of nothing, which matplotlib warns of."""
    if axes.lines:
        axes.legend(fontsize="x-small")
