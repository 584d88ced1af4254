#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""small_files.py read|write DIRECTORY THREADS SECONDS [FILES]: threads that read or write one small file after the other.

read   each of FILES files "0", "1" ... once, in their order, until SECONDS are over
write  new files, each with an fsync before its close

Prints {"files", "seconds", "p50_ms", "p99_ms", "max_ms"}: of open, read or write, and close together."""

import itertools
import json
import os
import sys
import threading
import time

FILE_BYTES = 16384


def read(directory, number):
    fd = os.open(f"{directory}/{number}", os.O_RDONLY)
    try:
        if len(os.read(fd, FILE_BYTES)) != FILE_BYTES:
            sys.exit(f"{directory}/{number}: short")
    finally:
        os.close(fd)


def write(directory, number):
    fd = os.open(f"{directory}/{number}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        os.write(fd, bytes(FILE_BYTES))
        os.fsync(fd)
    finally:
        os.close(fd)


def run(action, directory, threads, seconds, files):
    """The latencies of all that were done, in seconds, and how long it took."""
    numbers, took = itertools.count(), []  # both are safe among threads
    begin = time.monotonic()

    def work():
        while time.monotonic() - begin < seconds:
            number = next(numbers)
            if files and number >= files:
                return
            start = time.monotonic()
            action(directory, number)
            took.append(time.monotonic() - start)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(took), time.monotonic() - begin


def main():
    action, directory, threads, seconds = {"read": read, "write": write}[sys.argv[1]], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    os.makedirs(directory, exist_ok=True)
    took, elapsed = run(action, directory, threads, seconds, int(sys.argv[5]) if len(sys.argv) > 5 else 0)
    if not took:
        sys.exit("no file was done")
    print(json.dumps({"files": len(took), "seconds": elapsed, "p50_ms": 1e3 * took[len(took) // 2],
                      "p99_ms": 1e3 * took[len(took) * 99 // 100], "max_ms": 1e3 * took[-1]}))


if __name__ == "__main__":
    main()
