# SPDX-License-Identifier: LGPL-3.0-or-later
"""The pictures of figures.py and readings.py: one file per experiment, a panel for each of its `panels`. A panel is a
function, one of PANELS, or else a metric: bars of its medians, with the range over all runs. The others show the last run."""

from bench.lab.report import RESULTS_DIRECTORY

COLOURS = {"limit": "lightgrey", "alone": "tab:grey", "local": "tab:grey", "stock": "tab:red", "best-static": "tab:orange",
           "canfs": "tab:blue", "canfs-write-only": "tab:cyan", "canfs-read-ahead-only": "tab:purple", "knfsd": "tab:green",
           "one-cursor": "tab:orange", "table-16": "tab:purple", "table-64": "tab:red"}
MB = 1e6


def by_second(samples, key):
    """The counter at each second since the first sample."""
    values, begin = [], samples[0]["seconds"]
    for sample in samples:
        while len(values) <= sample["seconds"] - begin:
            values.append(sample[key])
    return values


def of_all_guests(trial, key):
    series = [by_second(samples, key) for samples in trial.counters.values()]
    shortest = min(map(len, series))
    return [sum(values[second] for values in series) for second in range(shortest)]


def growth(values):
    return [later - earlier for earlier, later in zip(values, values[1:])]


def lines(axes, results, label, curve):
    """curve(trial): (x, y)"""
    for variant, trial in results.last.items():
        axes.plot(*curve(trial), color=COLOURS[variant], label=variant)
    axes.set_ylabel(label)
    axes.legend(fontsize="small")


def held(axes, results):
    def curve(trial):
        values = of_all_guests(trial, "held_bytes")
        return range(len(values)), [value / MB for value in values]
    lines(axes, results, "clients hold, MB", curve)
    axes.set_xlabel("seconds")


def rate(key, label):
    def draw(axes, results):
        def curve(trial):
            values = growth(of_all_guests(trial, key))
            return range(len(values)), [value / MB for value in values]
        lines(axes, results, label, curve)
        axes.set_xlabel("seconds")
    return draw


def cdf(axes, results):
    lines(axes, results, "share of the bytes", lambda trial: (
        trial.details["delays"], [(i + 1) / len(trial.details["delays"]) for i in range(len(trial.details["delays"]))]))
    axes.set_xlabel("seconds from write() to COMMIT")


def committed(axes, results):
    lines(axes, results, "committed, MB in each second", lambda trial: (
        range(len(trial.details["committed"])), [value / MB for value in trial.details["committed"]]))
    axes.set_xlabel("seconds from the first write")


PANELS = {"held": held, "sent": rate("sent_bytes", "clients send, MB/s"), "cdf": cdf, "committed": committed,
          "written": rate("written_bytes", "written, MB/s")}


def metric_bars(metric):
    def draw(axes, results):
        rows = [row for row in results.rows() if row["metric"] == metric]
        cases = list(dict.fromkeys(row["case"] for row in rows))
        variants = [variant for variant in COLOURS if any(row["variant"] == variant for row in rows)]
        for place, variant in enumerate(variants):
            mine = {row["case"]: row for row in rows if row["variant"] == variant}
            shown = [case for case in cases if case in mine]
            medians = [mine[case]["median"] for case in shown]
            axes.bar([cases.index(case) + 0.8 * (place + 0.5) / len(variants) - 0.4 for case in shown], medians,
                     0.8 / len(variants), color=COLOURS[variant], label=variant, capsize=3,
                     yerr=([median - mine[case]["min"] for case, median in zip(shown, medians)],
                           [mine[case]["max"] - median for case, median in zip(shown, medians)]))
        axes.set_xticks(range(len(cases)), cases, rotation=20 if len(cases) > 3 else 0, fontsize="small")
        axes.set_ylabel(f"{metric}, {rows[0]['unit']}")
        axes.legend(fontsize="small")
    return draw


def png(figure, results, path):
    """Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    picture, panels = pyplot.subplots(1, len(figure.panels), figsize=(5 * len(figure.panels), 4.2), squeeze=False,
                                      constrained_layout=True)
    for axes, name in zip(panels[0], figure.panels):
        draw = name if callable(name) else PANELS.get(name, metric_bars(name))
        draw(axes, results)
        axes.grid(alpha=0.3)
    picture.suptitle(f"{figure.NAME}: {figure.HELP}")
    picture.savefig(path, dpi=110)
    pyplot.close(picture)


def save(figure, results):
    """Says where the picture is, or why there is none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    path = RESULTS_DIRECTORY / f"{figure.NAME}.png"
    try:
        png(figure, results, path)
    except ImportError as error:
        return f"picture: skipped: {error}"
    return f"picture: {path}"
