# SPDX-License-Identifier: LGPL-3.0-or-later
"""The heuristics that Ellard & Seltzer compare (§6.2, §6.3), on a trace of READs: what FreeBSD 4.x did, and what they made of it.

    table    an entry for each active file: the offset that is expected next, and seqcount (1 ... 127)
    default  a READ at the expected offset: seqcount + 1; else it is 1 again
    slowdown a READ at the expected offset: seqcount + 1; within 64 KB of it: unchanged; else it is halved
    always   seqcount is hard-wired: what an implementation that knows would reach

The table is hashed, with a few probes; of those probed the least recently used gives way, and with it all that was known of its
file. As many blocks as seqcount says are read ahead, at most 16 (1 MB of READs of 64 KB), and none as long as it is 1."""

from dataclasses import dataclass

SEQCOUNT_MAX = 127
AHEAD_MAX_BLOCKS = 16
NEAR_BYTES = 64 << 10
OLD_TABLE = 64, 4       # entries, probes: FreeBSD 4.x's
LARGE_TABLE = 4096, 16


def default(seqcount, distance):
    return seqcount + 1 if distance == 0 else 1


def slowdown(seqcount, distance):
    if distance == 0:
        return seqcount + 1
    return seqcount if distance <= NEAR_BYTES else seqcount // 2


def always(_seqcount, _distance):
    return SEQCOUNT_MAX


@dataclass
class Entry:
    file: int
    expected: int
    seqcount: int = 0  # 1 with the READ that makes it
    used: int = 0


class Table:
    def __init__(self, entries, probes):
        self.slots = [None] * entries
        self.probes = probes
        self.clock = 0

    def find(self, file, offset):
        """The entry of this file: a new one expects this offset."""
        self.clock += 1
        first = file * 2654435761 % (1 << 32) * len(self.slots) >> 32
        places = [(first + probe) % len(self.slots) for probe in range(self.probes)]
        place = next((place for place in places if self.slots[place] and self.slots[place].file == file), None)
        if place is None:
            place = min(places, key=lambda place: self.slots[place].used if self.slots[place] else -1)
            self.slots[place] = Entry(file, offset)
        self.slots[place].used = self.clock
        return self.slots[place]


def replay(reads, heuristic, table):
    """Coverage and waste, as canfs-replay has them. reads: [(file, offset, bytes, bytes of the file)], all READs of one size; heuristic:
    a function above, of seqcount and how far from the expected offset a READ is; table: entries and probes."""
    table, there, read, covered = Table(*table), set(), set(), 0
    for file, offset, size, file_bytes in reads:
        entry = table.find(file, offset)
        entry.seqcount = min(heuristic(entry.seqcount, abs(offset - entry.expected)), SEQCOUNT_MAX)
        entry.expected = offset + size
        covered += (file, offset) in there
        read.add((file, offset))
        if entry.seqcount > 1:
            end = min(file_bytes, entry.expected + min(entry.seqcount, AHEAD_MAX_BLOCKS) * size)
            there.update((file, ahead) for ahead in range(entry.expected, end, size))
    wasted = len(there - read)
    return {"coverage": covered / len(read), "waste": wasted / (len(read) + wasted)}
