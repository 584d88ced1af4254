# SPDX-License-Identifier: LGPL-3.0-or-later
"""Checks that each panel of our dashboard has data, and draws a picture of them. Asks Prometheus as Grafana would: Debian has no Grafana."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from bench.lab.report import RESULTS_DIRECTORY

DASHBOARD = Path(__file__).resolve().parents[2] / "packaging/grafana/canfs.json"
# These panels show metrics of the clients' agents. An agent serves metrics on the loopback only, so the lab's Prometheus cannot reach it.
OF_CLIENTS = ("Data held by clients",)
UNITS = {"percentunit": (100, "%"), "Bps": (1e-6, "MB/s"), "bytes": (1e-6, "MB"), "none": (1, "")}
LEGEND_MAX = 9


@dataclass
class Panel:
    title: str
    kind: str    # of Grafana
    unit: str
    is_stacked: bool
    series: dict = field(default_factory=dict)  # {legend: [(time, value)]}


def legend(form, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda match: labels.get(match[1], ""), form)


def ask(prometheus, seconds, export):
    """Every panel with the data of the last so many seconds. export: the path, which the lab makes up, is "/export" in legends."""
    variables = {"$server": ".+", "$__rate_interval": f"{4 * prometheus.interval_seconds}s"}
    panels = []
    for shown in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        defaults = shown["fieldConfig"]["defaults"]
        panel = Panel(shown["title"], shown["type"], defaults["unit"], defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal")
        for target in shown["targets"]:
            expression = target["expr"]
            for name, value in variables.items():
                expression = expression.replace(name, value)
            for row in prometheus.query_range(expression, seconds):
                name = legend(target["legendFormat"], row["metric"]).replace(str(export), "/export")
                panel.series[name] = [(float(time), float(value)) for time, value in row["values"]]
        panels.append(panel)
    return panels


def empty(panels):
    """Titles of those that should have data and have none."""
    return [panel.title for panel in panels if not panel.series and panel.title not in OF_CLIENTS]


def draw(axes, panel, begin, step):
    factor, unit = UNITS[panel.unit]
    axes.set_title(panel.title, loc="left", fontsize="medium")
    if panel.kind == "stat":
        axes.text(0.5, 0.5, "\n".join(f"{name}   {points[-1][1]:g}" for name, points in panel.series.items()), ha="center", fontsize="x-large",
                  transform=axes.transAxes)
        axes.set_yticks([])
        return
    if panel.is_stacked:
        times = sorted({time for points in panel.series.values() for time, _ in points})
        values = [[factor * dict(points).get(time, 0) for time in times] for points in panel.series.values()]
        axes.stackplot([(time - begin) / 60 for time in times], values, labels=panel.series)
    for name, points in {} if panel.is_stacked else panel.series.items():
        times, values = zip(*gaps(points, step))
        axes.plot([(time - begin) / 60 for time in times], [factor * value for value in values], label=name)
    axes.set_ylabel(unit)
    axes.grid(alpha=0.3)
    largest = sorted(panel.series, key=lambda name: -max(value for _, value in panel.series[name]))[:LEGEND_MAX]
    handles = [pair for pair in zip(*axes.get_legend_handles_labels()) if pair[1] in largest]
    if handles:
        axes.legend(*zip(*handles), fontsize="xx-small", loc="upper left", bbox_to_anchor=(1, 1))


def gaps(points, step):
    """A series that was not there for a while is no line."""
    last = points[0][0]
    for time, value in points:
        if time - last > 1.5 * step:
            yield last + step, float("nan")
        yield time, value
        last = time


def png(panels, step, path):
    """Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    shown = [panel for panel in panels if panel.series]
    begin = min(points[0][0] for panel in shown for points in panel.series.values())
    picture, grid = pyplot.subplots((len(shown) + 1) // 2, 2, sharex=True, figsize=(15, 2.6 * ((len(shown) + 1) // 2)), squeeze=False,
                                    constrained_layout=True)
    for axes, panel in zip(grid.flat, shown):
        draw(axes, panel, begin, step)
    for axes in grid.flat[len(shown):]:
        axes.remove()
    for axes in grid[-1]:
        axes.set_xlabel("minutes")
    picture.savefig(path, dpi=80)
    pyplot.close(picture)


def save(panels, step, name):
    """Says where the picture is, or why there is none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    path = RESULTS_DIRECTORY / name
    try:
        png(panels, step, path)
    except ImportError as error:
        return f"picture: skipped: {error}"
    return f"picture: {path}"
