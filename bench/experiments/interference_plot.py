# SPDX-License-Identifier: LGPL-3.0-or-later
"""Pictures of one run of interference/held: a small one for the terminal, a PNG."""

from bench.lab.report import bars

COLOURS = {"alone": "tab:gray", "stock": "tab:red", "canfs": "tab:blue"}


def prices_by_second(trial, seconds):
    """Mean published write price in each second of the run; None where there was none."""
    sums = [[] for _ in range(seconds)]
    for sample in trial.prices:
        second = int(sample["seconds"])
        if sample.get("write") is not None and 0 <= second < seconds:
            sums[second].append(sample["write"])
    return [sum(values) / len(values) if values else None for values in sums]


def dirty_by_second(trial, seconds):
    series = [value / 1e6 for value in trial.writer.get("dirty_series_bytes", [])]
    return (series + [0] * seconds)[:seconds]


def terminal(trials):
    """One character per second."""
    seconds = max(len(trial.reader["ops_series"]) for trial in trials)
    top_ops = max(max(trial.reader["ops_series"]) for trial in trials)
    top_dirty = max([1, *(max(dirty_by_second(t, seconds)) for t in trials if t.writer)])
    lines = []

    def line(label, values, top, unit):
        lines.append(f"{label:24}|{bars(values, top)}| 0 ... {top:.3g} {unit}")
    for trial in trials:
        line(f"A's reads, {trial.variant}", trial.reader["ops_series"], top_ops, "ops/s")
    for trial in trials:
        if trial.writer:
            line(f"B holds, {trial.variant}", dirty_by_second(trial, seconds), top_dirty, "MB")
    for trial in trials:
        if trial.prices:
            line("price of a write", prices_by_second(trial, seconds), 1, "")
    axis = "".join(f"{second:<10}" for second in range(0, seconds, 10))
    lines.append(f"{'second':25}{axis}")
    return "\n".join(lines)


def png(trials, path):
    """Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    seconds = max(len(trial.reader["ops_series"]) for trial in trials)
    figure, (reads, worst, held, price) = pyplot.subplots(
        4, 1, sharex=True, figsize=(9, 9), constrained_layout=True)
    for trial in trials:
        style = {"color": COLOURS[trial.variant], "label": trial.variant, "drawstyle": "steps-post"}
        reads.plot(range(seconds), trial.reader["ops_series"], **style)
        worst.plot(range(seconds), [value or None for value in trial.reader["worst_ms_series"]],
                   **style)
        if trial.writer:
            held.plot(range(seconds), dirty_by_second(trial, seconds), **style)
        if trial.prices:
            samples = [s for s in trial.prices if s.get("write") is not None]
            price.plot([s["seconds"] for s in samples], [s["write"] for s in samples],
                       color=COLOURS[trial.variant], label="write")
            price.plot([s["seconds"] for s in samples], [s["read_ahead"] for s in samples],
                       color="tab:green", linestyle=":", label="read-ahead")
    reads.set_ylabel("A: reads/s")
    worst.set_ylabel("A: slowest read, ms")
    worst.set_yscale("log")
    held.set_ylabel("B: dirty data, MB")
    price.set_ylabel("prices (canfs)")
    price.set_ylim(0, 1.02)
    price.set_xlabel("seconds")
    for axes in (reads, worst, held, price):
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper right", fontsize="small")
    figure.suptitle("interference/held (CA-NFS Figure 4)")
    figure.savefig(path, dpi=110)
