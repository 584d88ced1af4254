# SPDX-License-Identifier: LGPL-3.0-or-later
"""Three pictures of herd: each law's metrics against the number of clients; one trial of some laws in time: the
server's backlog and price; and what one client's data is like beside a reader."""

from functools import partial

from bench.lab.report import RESULTS_DIRECTORY

# metric, title, what is asked for
PANELS = (("backlog_p99", "backlog at the server, p99 (MB)", 100),
          ("idle", "unused drain (share of the time)", 0.1),
          ("blocked_seconds", "blocked writers (s each)", None),
          ("fairness", "Jain fairness", 0.95))
PUSHED = "taper@push"
READER_SECONDS, READER_LAWS = 65, ("stock", "doubling", "taper")
TIMELINE_CLIENTS, TIMELINE_LOAD, TIMELINE_LAWS = 64, 110, ("stock", "threshold", "doubling", "taper", PUSHED)


def _metrics(pyplot, results, trials, path):
    loads = sorted({trial["load_pct"] for trial in trials})
    clients = sorted({trial["clients"] for trial in trials})
    variants = list(dict.fromkeys(t["variant"] for t in trials if t["price_age_msec"] == 100 or t["variant"] == PUSHED))
    figure, panels = pyplot.subplots(len(loads), len(PANELS), sharex=True, squeeze=False,
                                     figsize=(17, 4 * len(loads)), constrained_layout=True)
    for row, load in zip(panels, loads):
        for axes, (metric, title, asked) in zip(row, PANELS):
            for variant in variants:
                values = [results.median(f"clients-{n}-load-{load}", variant, metric) for n in clients]
                axes.plot(clients, [float("nan") if v is None else v for v in values], marker="o",
                          label=variant, linewidth=3 if variant in ("taper", PUSHED) else 1,
                          linestyle=":" if variant == PUSHED else "-")
            if asked is not None:
                axes.axhline(asked, color="black", linestyle="--", linewidth=1)
            axes.set_xscale("log")
            axes.set_title(f"{title}, load {load} %", fontsize="medium")
            axes.grid(alpha=0.3)
    for axes in panels[-1]:
        axes.set_xlabel("clients")
    panels[0][0].legend(fontsize="small")
    figure.suptitle("herd: prices 100 ms old, or pushed (dotted); dashed: what is asked for")
    figure.savefig(path, dpi=100)


def _timeline(pyplot, trials, path):
    chosen = {trial["variant"]: trial["seen"] for trial in reversed(trials)
              if (trial["clients"], trial["load_pct"]) == (TIMELINE_CLIENTS, TIMELINE_LOAD) and trial["variant"] in TIMELINE_LAWS}
    figure, panels = pyplot.subplots(2, 1, sharex=True, figsize=(12, 6), constrained_layout=True)
    for law in (law for law in TIMELINE_LAWS if law in chosen):
        seen = chosen[law]
        seconds = [i * seen["series_sec"] for i in range(len(seen["series"]))]
        for axes, column in zip(panels, (0, 1)):
            axes.plot(seconds, [point[column] for point in seen["series"]], label=law,
                      linewidth=2 if law in ("taper", PUSHED) else 0.8)
    for axes, title in zip(panels, ("backlog at the server (MB)", "price of a write")):
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    panels[0].axhline(100, color="black", linestyle="--", linewidth=1)
    panels[0].legend(loc="upper right", fontsize="small")
    panels[-1].set_xlabel("seconds")
    figure.suptitle(f"herd: {TIMELINE_CLIENTS} clients, load {TIMELINE_LOAD} %")
    figure.savefig(path, dpi=100)


def _beside_reader(pyplot, trials, path):
    chosen = {trial["law"]: trial["seen"]["series"][:READER_SECONDS] for trial in reversed(trials)
              if trial["law"] in READER_LAWS and trial["price_age_msec"] == 100}
    figure, panels = pyplot.subplots(3, 1, sharex=True, figsize=(12, 7), constrained_layout=True)
    for law in (law for law in READER_LAWS if law in chosen):
        for axes, column in zip(panels, (0, 2, 1)):
            axes.step(range(1, READER_SECONDS + 1), [point[column] for point in chosen[law]], label=law,
                      linewidth=2 if law == "taper" else 0.8)
    for axes, title in zip(panels, ("on the disk (MB in a second)", "held (MB)", "price of a write")):
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    panels[0].legend(loc="upper right", fontsize="small")
    panels[-1].set_xlabel("seconds")
    figure.suptitle("herd: one writer of 5 MB/s beside a reader")
    figure.savefig(path, dpi=100)


def save(trials, results):
    """Says where the pictures are, or why there are none."""
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    herd, alone = ([t for t in trials if bool(t["clients"]) == many and not t["alike"]] for many in (True, False))
    paths = []
    try:
        import matplotlib  # noqa: PLC0415: optional
        matplotlib.use("Agg")
        from matplotlib import pyplot  # noqa: PLC0415
        for name, draw, what in (("herd", partial(_metrics, pyplot, results), herd),
                                 ("herd-time", partial(_timeline, pyplot), herd),
                                 ("herd-reader", partial(_beside_reader, pyplot), alone)):
            if what:
                paths.append(RESULTS_DIRECTORY / f"{name}.png")
                draw(what, paths[-1])
    except ImportError as error:
        return [f"pictures: skipped: {error}"]
    return [f"picture: {path}" for path in paths]
