# SPDX-License-Identifier: LGPL-3.0-or-later
"""soak_guest.py load DIRECTORY SEED STOP: writes, truncates, replaces and deletes files of its own at random until there is
STOP, and reads each back; prints one JSON line for each: [name, version, pieces], -1 for one that is deleted.
soak_guest.py read DIRECTORY SEED STOP: reads what all clients do so to; prints how much as JSON.
soak_guest.py watch STOP: looks at this guest's agents until there is STOP; prints what it saw at worst.
In a guest, and from the host for pieces()."""

import errno
import json
import os
import random
import struct
import sys
import time
import zlib
from pathlib import Path

PIECE_BYTES = 1 << 20
PAGE_BYTES = 4096
FILES = 24
PIECES_MAX = 48
WATCH_SECONDS = 0.5
RECORD = struct.Struct("<QQQQ")
RECORDS = PAGE_BYTES // RECORD.size
READ_BYTES = (PAGE_BYTES, 16 * PAGE_BYTES, 64 * PAGE_BYTES)
# What a file says that another client has deleted.
GONE = (errno.ENOENT, errno.ESTALE)
# NFSv4, if the server was restarted since it was opened: an opening that cannot be had again.
LOST = (errno.EIO, errno.EBADF)


def record(name, version, page):
    """What a page consists of: of which file, which version of it, where."""
    head = struct.pack("<QQQ", zlib.crc32(name.encode()), version, page)
    return head + struct.pack("<Q", zlib.crc32(head))


def pieces(name, version, count):
    """The contents of a file, piece by piece; no two pages of any two versions are the same."""
    pages = PIECE_BYTES // PAGE_BYTES
    for number in range(count):
        yield b"".join(record(name, version, page) * RECORDS for page in range(number * pages, (number + 1) * pages))


def is_of(name, page, data):
    """Might anybody have written this to a page of the file? A page that is read while it is written may be of both versions."""
    for at in {data[start:start + RECORD.size] for start in range(0, len(data), RECORD.size)}:
        if at.strip(b"\0") and (len(at) < RECORD.size or at != record(name, RECORD.unpack(at)[1], page)):
            return False
    return True


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


def forget(file):
    """What the client has of it is no page of its page cache any more."""
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def check_own(path, name, version, count):
    """Nobody else writes it."""
    with open(path, "rb", buffering=0) as file:
        forget(file)
        for number, piece in enumerate(pieces(name, version, count)):
            if file.read(PIECE_BYTES) != piece:
                sys.exit(f"{name}, version {version}: piece {number} of {count} is not what was written")
        if file.read(1):
            sys.exit(f"{name}, version {version}, is longer than its {count} pieces")


def once(act, path, *others):
    """rename() and unlink() say that there is no such file if the server has done it, was killed before it replied, and the
    client asked again. Whether it was done rightly, check_own() and the end see."""
    try:
        act(path, *others)
    except FileNotFoundError:
        if os.path.lexists(path):
            raise


def change(chance, path, name, version, have):
    """have: (version, pieces) of the file, or None; what it is then."""
    what = chance.random()
    if have and what < 0.1:
        once(os.unlink, path)
        return None
    if have and what < 0.25:
        count = chance.randint(0, have[1])
        os.truncate(path, count * PIECE_BYTES)
        return have[0], count
    if what < 0.5:
        count = write_file(chance, f"{path}.new", name, version)
        once(os.rename, f"{path}.new", path)
        return version, count
    return version, write_file(chance, path, name, version)


def load(directory, seed, stop):
    chance = random.Random(seed)
    version, files = 0, {}
    while not os.path.exists(stop):
        version += 1
        name = f"{seed}-{chance.randrange(FILES)}"
        path = f"{directory}/{name}"
        files[name] = change(chance, path, name, version, files.get(name))
        if files[name]:
            check_own(path, name, *files[name])
        print(json.dumps([name, *(files[name] or (version, -1))]), flush=True)
        time.sleep(chance.random())


def is_replaced(path, opened):
    """Opening it once more asks the server, as stat() need not."""
    try:
        with open(path, "rb", buffering=0) as file:
            now = os.fstat(file.fileno())
    except FileNotFoundError:
        return True
    return (now.st_ino, now.st_mtime_ns) != (opened.st_ino, opened.st_mtime_ns)


def read_piece(file, path, opened, size, start):
    try:
        return os.pread(file.fileno(), size, start)
    except OSError as error:
        if error.errno in LOST and is_replaced(path, opened):
            raise FileNotFoundError(errno.ENOENT, "deleted while it was read", path) from error
        raise


def read_any(chance, path, name):
    """Forward, backward or anywhere; the bytes that there were."""
    size = chance.choice(READ_BYTES)
    done = 0
    with open(path, "rb", buffering=0) as file:
        opened = os.fstat(file.fileno())
        starts = list(range(0, opened.st_size, size))
        order = chance.choice(("forward", "backward", "random"))
        if order == "backward":
            starts.reverse()
        elif order == "random":
            chance.shuffle(starts)
        for start in starts:
            data = read_piece(file, path, opened, size, start)
            done += len(data)
            for at in range(0, len(data), PAGE_BYTES):
                if not is_of(name, (start + at) // PAGE_BYTES, data[at:at + PAGE_BYTES]):
                    sys.exit(f"{name}: nobody wrote what is at {start + at}: {data[at:at + RECORD.size].hex()}")
        forget(file)
    return done


def read(directory, seed, stop):
    chance = random.Random(f"reader {seed}")
    counts = {"read_files": 0, "read_bytes": 0, "gone": 0}
    while not os.path.exists(stop):
        names = [name for name in os.listdir(directory) if name.partition("-")[2].isdigit()]
        if not names:
            time.sleep(1)
            continue
        name = chance.choice(sorted(names))
        try:
            counts["read_bytes"] += read_any(chance, f"{directory}/{name}", name)
            counts["read_files"] += 1
        except OSError as error:
            if error.errno not in GONE:
                raise
            counts["gone"] += 1
        time.sleep(chance.random())
    print(json.dumps(counts))


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
    {"load": load, "read": read, "watch": watch}[sys.argv[1]](*sys.argv[2:])
