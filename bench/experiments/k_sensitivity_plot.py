# SPDX-License-Identifier: LGPL-3.0-or-later
"""One picture of all resources, as CA-NFS Figure 6: throughput against k, and what it is made of."""

from bench.lab.report import RESULTS_DIRECTORY

COLOURS = {"network": "tab:blue", "disk": "tab:red", "memory": "tab:green"}
# metric, title
PARTS = (("throughput", "throughput of both"), ("reader_ops_per_s", "reader: reads/s"),
         ("writer_mb_per_s", "writer: bytes/s through close"))


def png(curves, near, share, path):
    """curves: {(resource, k): {metric: [(factor, value)]}}. Raises ImportError without matplotlib."""
    import matplotlib  # noqa: PLC0415: optional
    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, panels = pyplot.subplots(1, len(PARTS), sharex=True, sharey=True, figsize=(13, 4.5),
                                     constrained_layout=True)
    for axes, (metric, title) in zip(panels, PARTS):
        for (resource, k), metrics in curves.items():
            best = max(value for _, value in metrics[metric])
            axes.plot([factor for factor, _ in metrics[metric]],
                      [value / best for _, value in metrics[metric]], marker="o",
                      color=COLOURS[resource], label=f"{resource} (k = {k:g})")
        axes.set_xscale("log", base=2)
        axes.set_xlabel("k, times the chosen one")
        axes.set_title(title)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("share of the best")
    panels[0].plot(near, (share, share), color="black", linestyle="--", label="asked for")
    panels[0].legend(loc="lower center", fontsize="small")
    figure.suptitle("k-sensitivity (CA-NFS Figure 6)")
    figure.savefig(path, dpi=110)


def save(curves, near, share):
    """Says where the picture is, or why there is none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    path = RESULTS_DIRECTORY / "k-sensitivity.png"
    try:
        png(curves, near, share, path)
    except ImportError as error:
        return f"picture: skipped: {error}"
    return f"picture: {path}"
