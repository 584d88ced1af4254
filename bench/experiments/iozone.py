# SPDX-License-Identifier: LGPL-3.0-or-later
"""iozone: its four columns, by fio on an NFS kernel client. IOzone itself is not free software in Debian's sense; its tests are
these: a file is written anew, written again, read, and read again, in records of one size, in order.

write    of a new file, fsync and close() counted (iozone -e -c)
rewrite  the same file, which is still cached
read     after client and server have forgotten all, as after a remount (iozone -U)
reread   at once: from the client's cache"""

import json

from bench.experiments.figure import Asked, Figure
from bench.lab.lab import Guest

RECORDS_KIB = (1, 2, 4, 32)
COLUMNS = {"write": "write", "rewrite": "write", "read": "read", "reread": "read"}  # rw of fio
FORGET_BEFORE = "read"


def fio_command(path, column, record_kib, file_mib):
    # Its own preparations would be I/O of their own: it shall neither allocate nor drop what is cached.
    return ("fio", f"--name={column}", f"--filename={path}", f"--rw={COLUMNS[column]}", f"--bs={record_kib}k",
            f"--size={file_mib}m", "--ioengine=psync", "--thread", "--fallocate=none", "--invalidate=0", "--end_fsync=1",
            "--fsync_on_close=1", "--output-format=json")


def mb_per_s(text, column):
    [job] = json.loads(text[text.index("{"):])["jobs"]
    return job[COLUMNS[column]]["bw_bytes"] / 1e6


def work(session):
    client, plan, values = session.clients[0], session.plan, {}
    for kib in plan.records_kib:
        if not any(map(session.wants, cases((kib,)))):
            continue
        path = session.lab.on_mount(f"out-{kib}")
        for column in COLUMNS:
            if column == FORGET_BEFORE:
                session.forget(client)
                session.lab.disk.cold()
            said = session.run(client, *fio_command(path, column, kib, plan.file_mib))
            values[f"{column}-{kib}k"] = {"throughput": mb_per_s(said, column)}
    return values


def cases(records_kib):
    return tuple(f"{column}-{kib}k" for kib in records_kib for column in COLUMNS)


FIGURE = Figure(
    "iozone", "write, rewrite, read, reread in records of 1 to 32 KB, by one kernel client (IOzone)",
    lambda lab, plan: None, lambda plan: [Guest("a", plan.guest_mib)], work,
    units={"throughput": "MB/s"}, knobs=(), cost=lambda values: 0,
    asked=(Asked("throughput", "at least", 0.95, "stock"),), panels=("throughput",), variants=("stock", "canfs"),
    full={"files": "no files", "cases": cases(RECORDS_KIB), "guest_mib": 512, "file_mib": 128, "records_kib": RECORDS_KIB},
    quick={"cases": cases((4, 32)), "file_mib": 32, "records_kib": (4, 32)})
