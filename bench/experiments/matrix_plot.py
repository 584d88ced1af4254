# SPDX-License-Identifier: LGPL-3.0-or-later
"""The picture of matrix.py, as Whitney's figures 3 and 4: throughput by clients, a panel for each direction and size."""

CLIENTS = (1, 6, 13, 40)
LINES = {"local": ":", "stock": "--", "canfs": "-"}
COLOURS = {"ext4": "tab:red", "ext4-fast-commit": "tab:orange", "xfs": "tab:blue", "btrfs": "tab:green"}


def by_clients(results, filesystem, kind, variant):
    """[(clients, MB/s)] of kind, "read-8k": ascending."""
    prefix = f"{filesystem}-{kind}-clients-"
    return sorted((int(row["case"].removeprefix(prefix)), row["median"]) for row in results.rows()
                  if row["variant"] == variant and row["case"].startswith(prefix))


def panel(kind):
    def draw(axes, results):
        for filesystem, colour in COLOURS.items():
            for variant, line in LINES.items():
                points = by_clients(results, filesystem, kind, variant)
                if points:
                    axes.plot(*zip(*points), line, color=colour, marker=".", label=f"{filesystem}, {variant}")
        axes.set_xscale("log", base=2)
        axes.set_xticks(CLIENTS, CLIENTS)
        axes.set_xlabel(f"clients, {kind}")
        axes.set_ylabel("throughput, MB/s")
        axes.set_ylim(bottom=0)
        if axes.lines:
            axes.legend(fontsize="x-small")
    return draw


PANELS = tuple(panel(f"{direction}-{kib}k") for direction in ("read", "write") for kib in (8, 32))
