# SPDX-License-Identifier: LGPL-3.0-or-later
"""races.py DIRECTORY STATE WHO SEED STOP [log]: writes files of its own, whose versions STATE tells the others, and reads theirs, until
there is STOP; with log, also appends to files that are common to all, under a lock. A reader that opens a file after its writer has closed it
must find just what was closed. Prints what it did as JSON; a line on standard error, and status 1, if something is wrong.

In a guest, or on the server."""

import fcntl
import json
import os
import random
import struct
import sys
import time

from soak_guest import PAGE_BYTES, RECORD, forget, is_of, record

FILES = 40          # of each; each in a directory of its own, since for a while after a recall none is granted in that directory
LOGS = 3
PAGES_MAX = 40      # some are closed with more than the 100 KB that the server lets a client keep
WRITERS_PAUSE = (0, 0, 0.01, 0.05)
STATE = struct.Struct("<QQ")    # the version that is being written, and the last that was closed
RECENT = struct.Struct("<Q")    # the file of a client that was closed last
ENTRY = struct.Struct("<8sQ")   # of a log: who, and how many it has written


def pages(name, version):
    """How many a version has."""
    return random.Random(f"{name} {version}").randint(1, PAGES_MAX) if version else 0


def contents(name, version):
    return b"".join(record(name, version, page) * (PAGE_BYTES // RECORD.size) for page in range(pages(name, version)))


def files_of(who):
    return [f"{who}-{number}" for number in range(FILES)]


def prepare(directory, state, everybody):
    """All that there will be: what another guest has made, a guest need not see at once."""
    for name in (name for who in everybody for name in files_of(who)):
        (directory / name).mkdir()
        (directory / name / "file").touch()
        (state / name).write_bytes(STATE.pack(0, 0))
    for who in everybody:
        (state / who).write_bytes(RECENT.pack(0))
    for number in range(LOGS):
        (directory / f"log-{number}").touch()


class States:
    """Where all see how far the writer of each file is. What one guest writes to the host another sees only if both ask for that."""

    def __init__(self, directory):
        self.directory = directory

    def _write(self, name, data):
        fd = os.open(f"{self.directory}/{name}", os.O_WRONLY)
        os.pwrite(fd, data, 0)
        os.fsync(fd)
        os.close(fd)

    def _read(self, name, form):
        with open(f"{self.directory}/{name}", "rb", buffering=0) as file:
            forget(file)
            return form.unpack(file.read(form.size))

    def tell(self, name, begun, done):
        self._write(name, STATE.pack(begun, done))
        if begun == done:
            who, number = name.split("-")
            self._write(who, RECENT.pack(int(number)))

    def look(self, name):
        return self._read(name, STATE)

    def choose(self, chance):
        """A file to read: any, or one that was closed just now."""
        names = sorted(os.listdir(self.directory))
        if chance.random() < 0.3:
            return chance.choice([name for name in names if "-" in name])
        who = chance.choice([name for name in names if "-" not in name])
        return f"{who}-{self._read(who, RECENT)[0]}"


def write(chance, path, name, version):
    """In place, or anew."""
    data = contents(name, version)
    pause = chance.choice(WRITERS_PAUSE)
    is_new = chance.random() < 0.5
    with open(path, "wb" if is_new else "r+b", buffering=0) as file:
        for at in range(0, len(data), PAGE_BYTES):
            file.write(data[at:at + PAGE_BYTES])
            time.sleep(pause)
        file.truncate(len(data))
        if chance.random() < 0.1:
            os.fsync(file.fileno())


def versions_in(data):
    return {RECORD.unpack_from(data, at)[1] for at in range(0, len(data) // RECORD.size * RECORD.size, RECORD.size)
            if data[at:at + RECORD.size].strip(b"\0")}


def check(states, path, name):
    """Whether nobody wrote it meanwhile, so that all of it is known."""
    done = states.look(name)[1]
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        data = b"".join(iter(lambda: file.read(64 * PAGE_BYTES), b""))
    begun = states.look(name)[0]
    if begun == done:
        if data != contents(name, done) or size != len(data):
            sys.exit(f"{name}: version {done} was closed, with {pages(name, done)} pages; there are {size} bytes, {len(data)} of them read, of "
                     f"{sorted(versions_in(data))}")
        return True
    wrong = [at for at in range(0, len(data), PAGE_BYTES) if not is_of(name, at // PAGE_BYTES, data[at:at + PAGE_BYTES])]
    found = versions_in(data)
    if wrong or found and not done <= min(found) <= max(found) <= begun:
        sys.exit(f"{name}: nobody wrote what is at {wrong[:3]}, or it is of {sorted(found)}, where {done} was closed and {begun} begun")
    return False


def append(path, who, count):
    """An entry, behind all that there are."""
    with open(path, "r+b", buffering=0) as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        data = file.read()
        numbers = [number for whose, number in ENTRY.iter_unpack(data) if whose == who]
        if numbers != list(range(1, count + 1)):
            sys.exit(f"{path}: {len(numbers)} entries, not {count}, or others: {numbers[-5:]}")
        file.write(ENTRY.pack(who, count + 1))


def main(directory, state, who, seed, stop, *more):
    chance = random.Random(f"{who} {seed}")
    states = States(state)
    whose = who.encode("ascii").ljust(8)
    done = {"written": 0, "known": 0, "changing": 0, "appended": 0}
    versions = dict.fromkeys(files_of(who), 0)
    logs = dict.fromkeys((f"log-{number}" for number in range(LOGS)), 0)
    while not os.path.exists(stop):
        what = chance.random()
        if more and what < 0.1:
            name = chance.choice(list(logs))
            append(f"{directory}/{name}", whose, logs[name])
            logs[name] += 1
            done["appended"] += 1
        elif what < 0.4:
            name = chance.choice(list(versions))
            version = versions[name]
            states.tell(name, version + 1, version)
            write(chance, f"{directory}/{name}/file", name, version + 1)
            versions[name] = version + 1
            states.tell(name, version + 1, version + 1)
            done["written"] += 1
        else:
            name = states.choose(chance)
            done["known" if check(states, f"{directory}/{name}/file", name) else "changing"] += 1
        time.sleep(chance.choice((0, 0.02, 0.1)))
    print(json.dumps(done | {"logs": logs}))


if __name__ == "__main__":
    main(*sys.argv[1:])
