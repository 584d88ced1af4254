# SPDX-License-Identifier: LGPL-3.0-or-later
"""soak_guest.py load DIRECTORY SEED STOP: writes files at random until there is STOP; prints one JSON line for
each: [name, version, bytes]. soak_guest.py watch STOP: looks at this guest's agents until there is STOP; prints
what it saw at worst. In a guest, and from the host for pieces()."""

import json
import os
import random
import sys
import time
from pathlib import Path

PIECE_BYTES = 1 << 20
FILES = 24
PIECES_MAX = 48
WATCH_SECONDS = 0.5


def pieces(name, version, count):
    """The contents of a file, piece by piece; no two pieces of any two versions are the same."""
    block = random.Random(f"{name} {version}").randbytes(PIECE_BYTES)
    for number in range(count):
        yield number.to_bytes(8, "big") + block[8:]


def write_file(chance, path, name, version):
    """One of the ways in which programs write: in bursts, or slowly; kept open, flushed, closed at once."""
    count = chance.randint(1, PIECES_MAX)
    pause = chance.choice((0, 0, 0.02, 0.1))
    with open(path, "wb", buffering=0) as file:
        for piece in pieces(name, version, count):
            file.write(piece)
            time.sleep(pause)
        time.sleep(chance.choice((0, 1, 4)))
        if chance.random() < 0.2:
            os.fsync(file.fileno())
    return count


def load(directory, seed, stop):
    chance = random.Random(seed)
    version = 0
    while not os.path.exists(stop):
        version += 1
        name = f"{seed}-{chance.randrange(FILES)}"
        count = write_file(chance, f"{directory}/{name}", name, version)
        print(json.dumps([name, version, count]), flush=True)
        time.sleep(chance.random())


def agents():
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "comm").read_text() == "canfs-agent\n":
                yield path
        except OSError:
            pass  # it has ended


def look(path):
    """(state, resident KiB, descriptors, threads)"""
    fields = dict(line.split(":", 1) for line in (path / "status").read_text().splitlines())
    return (fields["State"].split()[0], int(fields["VmRSS"].split()[0]),
            len(os.listdir(path / "fd")), int(fields["Threads"]))


def watch(stop):
    worst = {"looks": 0, "stuck_seconds": 0, "rss_kib": 0, "descriptors": 0, "threads": 0}
    stuck = 0
    while not os.path.exists(stop):
        for path in agents():
            try:
                state, rss_kib, descriptors, threads = look(path)
            except (OSError, KeyError):
                continue  # it has ended
            stuck = stuck + WATCH_SECONDS if state == "D" else 0
            worst["looks"] += 1
            for name, value in (("stuck_seconds", stuck), ("rss_kib", rss_kib),
                                ("descriptors", descriptors), ("threads", threads)):
                worst[name] = max(worst[name], value)
        time.sleep(WATCH_SECONDS)
    print(json.dumps(worst))


if __name__ == "__main__":
    {"load": load, "watch": watch}[sys.argv[1]](*sys.argv[2:])
