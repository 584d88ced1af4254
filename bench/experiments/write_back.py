# SPDX-License-Identifier: LGPL-3.0-or-later
"""From the counters of a client whose only writer writes its file from the beginning to the end: when each byte was
written, and when it was safe on the server (committed).

    written    ________/‾‾‾‾‾‾      what the application gave to write()
    committed  ____________/‾‾‾     the same less what is dirty, in flight or waits for a COMMIT
                       |---|        a byte's delay: between the curves, from left to right

Bytes are taken to leave in the order in which they came. Resolution: that of the samples."""

from bisect import bisect_left

STEPS = 1000  # bytes whose delay is looked up


def quantile(values, share):
    """Of sorted values."""
    return values[round(share * (len(values) - 1))]


class History:
    def __init__(self, samples):
        """samples: of bench/lab/counters.py, from before the first write to after the last COMMIT."""
        first, high = samples[0], 0
        self.seconds, self.written, self.committed = [], [], []
        for sample in samples:
            written = sample["written_bytes"] - first["written_bytes"]
            # Some of a guest's dirty pages are others', and a page that is written again is held once: never backwards.
            high = max(high, written - max(0, sample["held_bytes"] - first["held_bytes"]))
            self.seconds.append(sample["seconds"])
            self.written.append(written)
            self.committed.append(min(high, written))
        self.total = self.committed[-1]

    def _when(self, curve, level):
        """The second in which a curve reached a level."""
        after = min(bisect_left(curve, level), len(curve) - 1)
        if after == 0 or curve[after] == curve[after - 1]:
            return self.seconds[after]
        share = (level - curve[after - 1]) / (curve[after] - curve[after - 1])
        return self.seconds[after - 1] + share * (self.seconds[after] - self.seconds[after - 1])

    def delays(self):
        """Seconds from write() to COMMIT, sorted: of bytes at even distances."""
        levels = [self.total * (step + 1) / STEPS for step in range(STEPS)]
        return sorted(self._when(self.committed, level) - self._when(self.written, level) for level in levels)

    def _span(self):
        """From the first write to the last COMMIT."""
        return self._when(self.written, 1), self._when(self.committed, self.total)

    def committed_until(self, second):
        after = min(bisect_left(self.seconds, second), len(self.seconds) - 1)
        if after == 0 or self.seconds[after] <= second:
            return self.committed[after]
        share = (second - self.seconds[after - 1]) / (self.seconds[after] - self.seconds[after - 1])
        return self.committed[after - 1] + share * (self.committed[after] - self.committed[after - 1])

    def committed_by_second(self):
        """Bytes in each second since the first write."""
        begin, end = self._span()
        marks = [self.committed_until(begin + second) for second in range(int(end - begin) + 2)]
        return [later - earlier for earlier, later in zip(marks, marks[1:])]

    def peak_over_mean(self):
        """Of the bytes committed within a second, wherever that begins."""
        begin, end = self._span()
        peak = max(self.committed_until(second + 1) - self.committed_until(second) for second in self.seconds)
        return peak / (self.total / max(1.0, end - begin))
