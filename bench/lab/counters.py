#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Runs in a guest: counters.py MOUNT [SECONDS]: what the NFS client has counted, as a line of JSON; with
SECONDS one every so often, until SIGTERM.

seconds                           of the guest's own clock
read_bytes, written_bytes         what applications asked for, through the page cache
fetched_bytes, sent_bytes         what the server was asked for
READ, WRITE, COMMIT               calls
held_bytes                        Dirty + Writeback, the whole guest's; what waits for a COMMIT is in it"""

import json
import signal
import sys
import time

OPERATIONS = ("READ", "WRITE", "COMMIT")
# "bytes:" of /proc/self/mountstats, by place.
BYTES = {"read_bytes": 0, "written_bytes": 1, "fetched_bytes": 4, "sent_bytes": 5}


def of_mount(text, mount):
    """The lines that /proc/self/mountstats has of this mount point."""
    mine = False
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["device"]:
            mine = words[4] == mount
        elif mine:
            yield words


def parse(mountstats, meminfo, mount):
    counters = {}
    for name, *numbers in filter(None, of_mount(mountstats, mount)):
        if name == "bytes:":
            counters |= {key: int(numbers[place]) for key, place in BYTES.items()}
        elif name[:-1] in OPERATIONS:
            counters[name[:-1]] = int(numbers[0])
    kib = {line.split()[0]: int(line.split()[1]) for line in meminfo.splitlines()}
    counters["held_bytes"] = (kib["Dirty:"] + kib["Writeback:"]) * 1024
    return counters


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    mount, interval = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    while True:
        counters = parse(read("/proc/self/mountstats"), read("/proc/meminfo"), mount)
        print(json.dumps({"seconds": time.monotonic(), **counters}), flush=True)
        if ended or not interval:
            return
        time.sleep(interval)


if __name__ == "__main__":
    main()
