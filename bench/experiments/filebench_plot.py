# SPDX-License-Identifier: LGPL-3.0-or-later
"""The picture of filebench.py, and what CA-NFS's paper has of the same benchmarks, as far as its text gives numbers."""

import re

from bench.experiments.figures_plot import COLOURS
from bench.lab.report import RESULTS_DIRECTORY

# Operations per second, CA-NFS over NFS. Figure 9 (oltp) has no numbers in the text: a "rather small" advantage with one
# to four clients, growing with their number; NFS with 23 clients is slower than with 12.
PAPER = {("fileserver", 1): (1.10, "more than 1.10", "Figure 7"), ("fileserver", 8): (1.20, "more than 1.20", "Figure 7"),
         ("webserver", None): (2503 / 2443, "1.02", "Table 1")}
# Of the ends of cases' names: what is drawn against the number of clients.
LINES = {"": "-", "-4.1": "--"}
# Table 1, webserver: ms an operation of NFS and CA-NFS.
TABLE_1 = {"openfile": (34.3, 33.7), "readwholefile": (5.3, 5.1), "closefile": (4.0, 4.2), "appendfilerand": (7.1, 7.2)}


def parts(case):
    """(personality, clients, the rest)"""
    match = re.fullmatch(r"(\w+)-clients-(\d+)(.*)", case)
    return match[1], int(match[2]), match[3]


def of_paper(case):
    """It had NFSv3."""
    personality, clients, suffix = parts(case)
    return None if suffix else PAPER.get((personality, clients)) or PAPER.get((personality, None))


def ratio(results, case):
    stock, canfs = (results.median(case, variant, "ops_per_s") for variant in ("stock", "canfs"))
    return canfs / stock if stock and canfs else None


def mean_ms(trial, kind):
    """Of all clients' operations of this kind."""
    flowops = [flowop for client in trial.clients.values() for flowop in client["flowops"].values()
               if flowop["kind"] == kind and flowop["ops"]]
    ops = sum(flowop["ops"] for flowop in flowops)
    return sum(flowop["mean_ms"] * flowop["ops"] for flowop in flowops) / ops if ops else None


def beside_the_paper(results):
    """Lines for the table."""
    lines = []
    for case in results.cases():
        ours, paper = ratio(results, case), of_paper(case)
        if ours and paper:
            lines.append(f"{case}: canfs over stock {ours:.2f}; CA-NFS over NFS {paper[1]} ({paper[2]})")
        if ours and parts(case)[0] == "webserver":
            lines += latencies(results, case)
    return lines


def latencies(results, case):
    lines = []
    for kind, paper in TABLE_1.items():
        ours = [mean_ms(results.last[case, variant], kind) for variant in ("stock", "canfs")]
        if all(ours):
            lines.append("{}, {}: stock {:.3g}, canfs {:.3g} ms; NFS {}, CA-NFS {} ms (Table 1)".format(case, kind, *ours, *paper))
    return lines


def draw_ops(axes, results, personality):
    for suffix, line in LINES.items():
        for variant, colour in COLOURS.items():
            points = {parts(row["case"])[1]: row for row in results.rows() if row["variant"] == variant
                      and row["metric"] == "ops_per_s" and parts(row["case"])[::2] == (personality, suffix)}
            counts = sorted(points)
            if counts:
                medians = [points[count]["median"] for count in counts]
                axes.errorbar(counts, medians, color=colour, linestyle=line, marker="o", capsize=3,
                              label=variant + (" (NFSv4.1)" if suffix else ""),
                              yerr=([median - points[count]["min"] for count, median in zip(counts, medians)],
                                    [points[count]["max"] - median for count, median in zip(counts, medians)]))
    axes.set_title(personality)
    axes.set_xlabel("clients")
    axes.set_ylabel("operations per second, all clients")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def compared(results):
    return [case for case in results.cases() if ratio(results, case)]


def draw_paper(axes, results):
    cases = compared(results)
    axes.barh([place - 0.2 for place in range(len(cases))], [ratio(results, case) for case in cases], 0.4,
              color=COLOURS["canfs"], label="canfs over stock")
    known = [(place, of_paper(case)) for place, case in enumerate(cases) if of_paper(case)]
    axes.barh([place + 0.2 for place, _ in known], [paper[0] for _, paper in known], 0.4, color="lightgrey",
              label="CA-NFS over NFS (fileserver: at least)")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(cases)), cases, fontsize="small")
    axes.invert_yaxis()
    axes.set_title("beside the paper")
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2)


def png(results, path):
    """Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    personalities = list(dict.fromkeys(parts(case)[0] for case in results.cases() if parts(case)[2] in LINES))
    count = len(personalities) + bool(compared(results))
    columns = min(3, count)
    rows = -(-count // columns)
    picture, panels = pyplot.subplots(rows, columns, figsize=(5.5 * columns, 4.2 * rows), squeeze=False,
                                      constrained_layout=True)
    panels = list(panels.flat)
    for axes, personality in zip(panels, personalities):
        draw_ops(axes, results, personality)
        axes.grid(alpha=0.3)
    for axes in panels[len(personalities):count]:
        draw_paper(axes, results)
    for axes in panels[count:]:
        axes.remove()
    picture.suptitle("filebench: operations per second against clients (median, range)")
    picture.savefig(path, dpi=110)
    pyplot.close(picture)


def save(results):
    """Says where the picture is, or why there is none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    path = RESULTS_DIRECTORY / "filebench.png"
    try:
        png(results, path)
    except ImportError as error:
        return f"picture: skipped: {error}"
    return f"picture: {path}"
