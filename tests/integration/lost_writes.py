# SPDX-License-Identifier: LGPL-3.0-or-later
"""lost_writes.py ADDRESS DIRECTORY CONTROL FAULTS SEED: clients of NFSv3 and NFSv4 write to the same file, in every way, to a disk of
which a part cannot be written now and then (CONTROL: of the modelled disk), until there have been so many faults. Each block is of one
client; what the server has acknowledged of it as stable is looked for on the disk.
Prints {"operations", "faults", "told": errors that clients were told, "resent": blocks that they wrote again because of a new
verifier, "acknowledged": blocks that were looked for, "lost": those that were not there}."""

import ctypes
import fcntl
import json
import os
import random
import struct
import sys
from pathlib import Path

from nfs_write import FILE_SYNC, UNSTABLE, VERSIONS

CLIENTS = ("3", "3", "4", "4")
BLOCKS_EACH = 8
BLOCK = 4096
FIBMAP = 1
LIBC = ctypes.CDLL(None)
TURNS = 60  # operations on a file; then there is a new one, since NFSv3 cannot commit to one that has failed


class Client:
    """Knows what it may rely on: {block: text} of what is stable, and of what it has to commit, with the verifier."""

    def __init__(self, version, address, path, blocks):
        self.file = VERSIONS[version](address, str(path.parent), path.name)
        self.path = path
        self.blocks = blocks
        self.stable = {}
        self.uncommitted = {}
        self.told = 0
        self.resent = 0
        self.count = 0

    def write(self, block, text, stable):
        self.stable.pop(block, None)
        self.uncommitted.pop(block, None)
        status, committed, verifier = self.file.write(block * BLOCK, text.encode().ljust(BLOCK, b"."), stable)
        if status:
            self.told += 1
        elif committed == FILE_SYNC:
            self.stable[block] = text
        else:
            self.uncommitted[block] = text, verifier

    def commit(self):
        status, _, verifier = self.file.commit()
        waiting, self.uncommitted = self.uncommitted, {}
        if status:
            self.told += 1  # of all of it, nothing can be said
            return
        for block, (text, written) in waiting.items():
            if written == verifier:
                self.stable[block] = text
            else:
                self.resent += 1
                self.write(block, text, UNSTABLE)

    def act(self, chance):
        self.count += 1
        what = chance.random()
        if what < 0.15:
            self.commit()
        else:
            self.write(chance.choice(self.blocks), f"{self.count} of {id(self)}", FILE_SYNC if what < 0.3 else UNSTABLE)

    def check(self):
        """(blocks that were looked for, those that were not there). Of what is in the page cache the disk may have nothing."""
        with open(self.path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            lost = [block for block, text in self.stable.items()
                    if not os.pread(file.fileno(), BLOCK, block * BLOCK).startswith(text.encode() + b".")]
        looked, self.stable = len(self.stable), {}
        return looked, len(lost)


class Disk:
    def __init__(self, control):
        self.control = Path(control)

    def faults(self):
        return json.loads((self.control.parent / "stat").read_text())["errors"]

    def break_blocks(self, path, blocks):
        """All that lies between them, too, but the file is in one piece or nearly so."""
        with open(path, "rb") as file:
            at = [struct.unpack("i", fcntl.ioctl(file, FIBMAP, struct.pack("i", block)))[0] for block in blocks]
        self.control.write_text(f"fail=write:always:{min(at) * BLOCK}-{(max(at) + 1) * BLOCK}")

    def mend(self):
        self.control.write_text("fail=none")


def make(path):
    with open(path, "wb") as file:
        file.write(b"." * BLOCK * BLOCKS_EACH * len(CLIENTS))
        os.fsync(file.fileno())
    path.chmod(0o666)


def sync(directory):
    """As the kernel's flusher would: it tells nobody what it could not write."""
    fd = os.open(directory, os.O_RDONLY)
    LIBC.syncfs(fd)
    os.close(fd)


def write_one_file(address, path, disk, chance):
    """Returns the clients, and what became of what they were acknowledged."""
    make(path)
    clients = [Client(version, address, path, range(number * BLOCKS_EACH, (number + 1) * BLOCKS_EACH))
               for number, version in enumerate(CLIENTS)]
    begin, end = chance.randrange(TURNS // 2), chance.randrange(TURNS // 2, TURNS)
    for turn in range(TURNS):
        if turn == begin:
            disk.break_blocks(path, chance.choice(clients).blocks)
        elif turn == end:
            disk.mend()
        chance.choice(clients).act(chance)
        if chance.random() < 0.05:
            sync(path.parent)
    for client in clients:
        client.commit()
    sync(path.parent)
    looks = [client.check() for client in clients]
    clients[0].file.remove()  # or the server would keep its space
    return clients, *map(sum, zip(*looks))


def main(address, directory, control, faults, seed):
    chance = random.Random(int(seed))
    disk = Disk(control)
    before, number = disk.faults(), 0
    sums = dict.fromkeys(("operations", "told", "resent", "acknowledged", "lost"), 0)
    while disk.faults() - before < int(faults):
        number += 1
        clients, looked, lost = write_one_file(address, Path(directory) / f"lost-{number}", disk, chance)
        for name, value in (("acknowledged", looked), ("lost", lost), ("operations", sum(client.count for client in clients)),
                            ("told", sum(client.told for client in clients)), ("resent", sum(client.resent for client in clients))):
            sums[name] += value
    print(json.dumps(sums | {"files": number, "faults": disk.faults() - before}))


if __name__ == "__main__":
    main(*sys.argv[1:])
