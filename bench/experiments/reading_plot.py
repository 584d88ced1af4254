# SPDX-License-Identifier: LGPL-3.0-or-later
"""Panels of the pictures of readings.py that figures_plot.py does not have."""


def finish_times(trial):
    """When each reader of the first group had all of its file: ascending."""
    return sorted(reader["finish_seconds"] for reader in next(iter(trial.seen.values()))["readers"])


def finishes(axes, results):
    """Ellard & Seltzer Figure 3: a level line is a fair server, a low one a fast server."""
    for (case, variant), trial in results.last.items():
        times = finish_times(trial)
        axes.plot(range(1, len(times) + 1), times, marker="o", label=f"{case}, {variant}")
    axes.set_xlabel("readers that have ended")
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
