#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""small_files.py read|write|create DIRECTORY THREADS SECONDS [FILES [BYTES]]: threads that read or write one small file after the other.

read    each of FILES files "0", "1" ... of BYTES (16384) once, in their order, until SECONDS are over
write   new files (FILES at most, 0: as many as it makes), each with an fsync before its close
create  new files, without: what a copy or a compiler does

Prints {"files", "seconds", "p50_ms", "p99_ms", "max_ms", "close_p50_ms", "close_p99_ms",
"close_max_ms"}: of open, read or write, and close together, and of close alone."""

import itertools
import json
import os
import sys
import threading
import time

FILE_BYTES = 16384


def read(fd, size):
    if len(os.read(fd, size)) != size:
        sys.exit(f"{os.readlink(f'/proc/self/fd/{fd}')}: short")


def write(fd, size):
    create(fd, size)
    os.fsync(fd)


def create(fd, size):
    os.write(fd, bytes(size))


NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
ACTIONS = {"read": (os.O_RDONLY, read), "write": (NEW, write), "create": (NEW, create)}


def timed(path, flags, action, size):
    """(all of it, close) in seconds"""
    begin = time.monotonic()
    fd = os.open(path, flags, 0o644)
    try:
        action(fd, size)
    finally:
        closing = time.monotonic()
        os.close(fd)
    end = time.monotonic()
    return end - begin, end - closing


def run(name, directory, threads, seconds, files, size):
    """What timed() said of each file, and how long it took."""
    flags, action = ACTIONS[name]
    numbers, took = itertools.count(), []  # both are safe among threads
    begin = time.monotonic()

    def work():
        while time.monotonic() - begin < seconds:
            number = next(numbers)
            if files and number >= files:
                return
            took.append(timed(f"{directory}/{number}", flags, action, size))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return took, time.monotonic() - begin


def percentiles(name, seconds):
    ordered = sorted(seconds)
    return {f"{name}p50_ms": 1e3 * ordered[len(ordered) // 2], f"{name}p99_ms": 1e3 * ordered[len(ordered) * 99 // 100],
            f"{name}max_ms": 1e3 * ordered[-1]}


def main():
    action, directory, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    files, size = (int(sys.argv[at]) if len(sys.argv) > at else default for at, default in ((5, 0), (6, FILE_BYTES)))
    os.makedirs(directory, exist_ok=True)
    took, elapsed = run(action, directory, threads, seconds, files, size)
    if not took:
        sys.exit("no file was done")
    print(json.dumps({"files": len(took), "seconds": elapsed} | percentiles("", [all_of_it for all_of_it, _ in took])
                     | percentiles("close_", [close for _, close in took])))


if __name__ == "__main__":
    main()
