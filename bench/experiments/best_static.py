# SPDX-License-Identifier: LGPL-3.0-or-later
"""The variant `best-static`: what the best administrator could reach without canfs, who knows the workload, sets the
kernel's knobs once for it, and leaves them."""

from dataclasses import dataclass, replace

from bench.lab.host import LabError
from bench.lab.lab import MOUNT_POINT

# Percent of the memory that may be dirty: where the background flusher begins, where writers wait. The kernel's: 10, 20.
DIRTY = ((1, 2), (5, 10), (20, 30), (35, 45), (50, 60), (70, 80))
READ_AHEAD_KIB = (64, 512, 2048, 8192)  # the kernel's: 128
LEVELS = {"dirty": DIRTY, "read_ahead_kib": READ_AHEAD_KIB}
QUICK_LEVELS = {"dirty": ((35, 45),), "read_ahead_kib": (2048,)}

# Without min_ratio a mount that has written little lately gets a small share of the background, whatever that is.
SCRIPT = f"""
set -e
bdi=/sys/class/bdi/$(mountpoint -d {MOUNT_POINT})
if [ "$1" ]; then
	echo 90 >"$bdi/min_ratio"
	echo "$2" >/proc/sys/vm/dirty_ratio
	echo "$1" >/proc/sys/vm/dirty_background_ratio
fi
[ ! "$3" ] || echo "$3" >"$bdi/read_ahead_kb"
"""


@dataclass(frozen=True)
class Setting:
    """None: the kernel's default."""
    dirty: tuple = None          # background, limit, in percent
    read_ahead_kib: int = None

    def __str__(self):
        words = []
        if self.dirty:
            words.append("dirty_background_ratio {} %, dirty_ratio {} %, min_ratio 90 %".format(*self.dirty))
        if self.read_ahead_kib:
            words.append(f"read_ahead_kb {self.read_ahead_kib}")
        return ", ".join(words) or "the kernel's defaults"

    def commands(self):
        """To be run in each guest, before anything is opened."""
        if self == STOCK:
            return []
        background, limit = self.dirty or ("", "")
        return [("sh", "-c", SCRIPT, "sh", background, limit, self.read_ahead_kib or "")]


STOCK = Setting()


def search(levels, knobs, measure, cost, say, stock=None):
    """Knob by knob, each at the best value of those before: levels[knob] are tried besides the kernel's default.
    measure(setting) makes a trial, cost(trial) is the less the better; stock: a trial without a setting, if there is
    one. Returns the best setting and its trial. What no client survives is no candidate."""
    best, trial = STOCK, stock or measure(STOCK)
    for knob in knobs:
        begin = best
        for level in levels[knob]:
            setting = replace(begin, **{knob: level})
            try:
                candidate = measure(setting)
            except LabError as error:
                say(f"{setting}: no candidate: {error}")
                continue
            if cost(candidate) < cost(trial):
                best, trial = setting, candidate
    say(f"best static: {best}")
    return best, trial
