# SPDX-License-Identifier: LGPL-3.0-or-later
"""manifest.py DIRECTORY: everything that a copy must preserve, one JSON line a file, sorted by path.
Runs on the host and in guests, so that both ends are looked at with the same eyes."""

import hashlib
import json
import os
import stat
import sys

PIECE_BYTES = 1 << 20


def checksum(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
    return digest.hexdigest()


def describe(path):
    status = os.lstat(path)
    entry = {"mode": oct(status.st_mode), "mtime_ns": status.st_mtime_ns, "uid": status.st_uid,
             "gid": status.st_gid}
    if stat.S_ISREG(status.st_mode):
        entry |= {"bytes": status.st_size, "links": status.st_nlink, "sha256": checksum(path)}
    elif stat.S_ISLNK(status.st_mode):
        entry["target"] = os.readlink(path)
    return entry


def manifest(top):
    paths = [os.path.join(directory, name) for directory, below, files in os.walk(top)
             for name in below + files]
    return {os.path.relpath(path, top): describe(path) for path in sorted(paths)}


if __name__ == "__main__":
    for path, entry in manifest(sys.argv[1]).items():
        print(json.dumps([path, entry]))
