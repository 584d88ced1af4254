#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""promises.py DIRECTORY THREADS: until it is killed, writes files as a careful application does, and says on the console, at
once, what the server has acknowledged: a line "promise EVENT THREAD NUMBER" each. (Everything else in a guest is lost with it.)

Each file is created, written, fsynced and closed ("stable"); then, by its number modulo 4, it is left alone, renamed ("renamed"),
removed ("removed"), or its second half is overwritten and fsynced ("rewritten"). With every BARE-th comes an empty file, or
a directory, by turns, that is only created ("created").

kept() says, on the machine that has the file system, what of these promises is true."""

import os
import sys
import threading
from collections import Counter

FILE_BYTES, HALF = 16384, 8192
ALONE, RENAMED, REMOVED, REWRITTEN = range(4)
BARE = 8
CONSOLE = "/dev/console"


def content(thread, number, version):
    return f"{thread} {number} {version} ".encode().ljust(64, b".") * (HALF // 64)


def write_synced(path, flags, offset, data):
    fd = os.open(path, flags, 0o644)
    try:
        os.pwrite(fd, data, offset)
        os.fsync(fd)
    finally:
        os.close(fd)


def change(path, thread, number):
    """The name of what was done to it, if anything."""
    if number % 4 == RENAMED:
        os.rename(path, f"{path}.renamed")
        return "renamed"
    if number % 4 == REMOVED:
        os.unlink(path)
        return "removed"
    if number % 4 == REWRITTEN:
        write_synced(path, os.O_WRONLY, HALF, content(thread, number, 2))
        return "rewritten"
    return None


def create_bare(path, number):
    if number % (2 * BARE) == 0:
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))


def work(directory, thread, say):
    number = 0
    while True:
        path = f"{directory}/{thread}-{number}"
        write_synced(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0, content(thread, number, 1) * 2)
        say("stable", thread, number)
        event = change(path, thread, number)
        if event:
            say(event, thread, number)
        if number % BARE == 0:
            create_bare(f"{path}.bare", number)
            say("created", thread, number)
        number += 1


def promises(console):
    """{(thread, number): the events that were acknowledged}"""
    made = {}
    for line in console.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == "promise" and words[2].isdigit() and words[3].isdigit():
            made.setdefault((int(words[2]), int(words[3])), set()).add(words[1])
    return made


def read(path):
    return path.read_bytes() if path.exists() else None


def data_is_kept(data, thread, number, events):
    """Is what was synced there? What was under way may be either."""
    halves = content(thread, number, 1), content(thread, number, 2)
    if data is None or len(data) != FILE_BYTES or data[:HALF] != halves[0]:
        return False
    if number % 4 != REWRITTEN:
        return data[HALF:] == halves[0]
    return data[HALF:] == halves[1] if "rewritten" in events else True


def check_file(directory, thread, number, events):
    """The names of the promises that were made for this file, and of those that were broken."""
    path = directory / f"{thread}-{number}"
    old, new = read(path), read(directory / f"{path.name}.renamed")
    made, broken = set(events), set()
    if "created" in events and not (directory / f"{path.name}.bare").exists():
        broken.add("created")
    if "renamed" in events and new is None:
        broken.add("renamed")
    if number % 4 == REMOVED:
        # Once it was to be removed, its data are no promise any more.
        broken |= {"removed"} if "removed" in events and old is not None else set()
    elif "stable" in events and not data_is_kept(old if new is None else new, thread, number, events):
        broken.add("rewritten" if "rewritten" in events else "stable")
    return made, broken


def kept(directory, console):
    """({event: promises}, {event: of them broken}); directory: a Path to what is left, console: what the guest's had."""
    made, broken = Counter(), Counter()
    for (thread, number), events in promises(console).items():
        for total, some in zip((made, broken), check_file(directory, thread, number, events)):
            total.update(some)
    return dict(made), dict(broken)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    directory, threads = sys.argv[1], int(sys.argv[2])
    os.makedirs(directory, exist_ok=True)
    console = os.open(CONSOLE, os.O_WRONLY | os.O_NOCTTY)

    def say(*words):
        os.write(console, f"promise {' '.join(map(str, words))}\n".encode())

    workers = [threading.Thread(target=work, args=(directory, thread, say)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
