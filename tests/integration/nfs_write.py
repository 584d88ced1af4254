# SPDX-License-Identifier: LGPL-3.0-or-later
"""nfs_write.py ADDRESS DIRECTORY FILE VERSION OPERATION...: writes to an NFS server on the wire, without a client that would
try again: WRITE and COMMIT of NFSv3 (RFC 1813), or of NFSv4.0 (RFC 7530) without an open.

OPERATION	unstable:OFFSET:TEXT | stable:OFFSET:TEXT (FILE_SYNC) | commit | truncate | remove (NFSv3)
Prints for each [status, committed, verifier]; committed: 0 (UNSTABLE) to 2 (FILE_SYNC), null of others; verifier: in hexadecimal."""

import functools
import json
import struct
import sys

from nfs_probe import ProbeError, call, call_on, connect, opaque

UNSTABLE, FILE_SYNC = 0, 2
ANYBODY = bytes(16)  # the stateid of who has not opened it


class Nfs3:
    def __init__(self, address, directory, name):
        self.connection = connect(address, 2049)
        mount = call(address, 20048, 100005, 3, 1, opaque(directory.encode()))
        status, length = struct.unpack(">II", mount[:8])
        if status:
            raise ProbeError(f"MNT {directory}: status {status}")
        self.entry = opaque(mount[8:8 + length]) + opaque(name.encode())

    @functools.cached_property
    def file(self):
        """Looked up when it is needed."""
        status, reply = self._call(3, self.entry)
        if status:
            raise ProbeError(f"LOOKUP: status {status}")
        length, = struct.unpack(">I", reply[:4])
        return opaque(reply[4:4 + length])

    def _call(self, procedure, arguments):
        reply = call_on(self.connection, 100003, 3, procedure, arguments)
        return struct.unpack(">I", reply[:4])[0], reply[4:]

    def write(self, offset, data, stable):
        status, reply = self._call(7, self.file + struct.pack(">QII", offset, len(data), stable) + opaque(data))
        return (status, *struct.unpack(">I8s", reply[-12:])) if status == 0 else (status, None, b"")

    def commit(self):
        status, reply = self._call(21, self.file + struct.pack(">QI", 0, 0))
        return status, None, reply[-8:] if status == 0 else b""

    def truncate(self):
        """SETATTR of the size alone."""
        status, _ = self._call(2, self.file + struct.pack(">IIIIQIII", 0, 0, 0, 1, 0, 0, 0, 0))
        return status, None, b""

    def create(self):
        """UNCHECKED, with a size of 0: what there is becomes empty."""
        return self._call(8, self.entry + struct.pack(">IIIIIQII", 0, 0, 0, 0, 1, 0, 0, 0))[0]

    def remove(self):
        return self._call(12, self.entry)[0], None, b""


class Nfs4:
    def __init__(self, address, directory, name):
        self.connection = connect(address, 2049)
        names = [word.encode() for word in f"{directory}/{name}".split("/") if word]
        self.way = [struct.pack(">I", 24)] + [struct.pack(">I", 15) + opaque(word) for word in names]

    def _call(self, operation):
        operations = [*self.way, operation]
        reply = call_on(self.connection, 100003, 4, 1,
                        opaque(b"") + struct.pack(">II", 0, len(operations)) + b"".join(operations))
        return struct.unpack(">I", reply[:4])[0], reply

    def write(self, offset, data, stable):
        status, reply = self._call(struct.pack(">I", 38) + ANYBODY + struct.pack(">QI", offset, stable) + opaque(data))
        return (status, *struct.unpack(">I8s", reply[-12:])) if status == 0 else (status, None, b"")

    def commit(self):
        status, reply = self._call(struct.pack(">IQI", 5, 0, 0))
        return status, None, reply[-8:] if status == 0 else b""

    def truncate(self):
        # FATTR4_SIZE
        status, _ = self._call(struct.pack(">I", 34) + ANYBODY + struct.pack(">II", 1, 1 << 4) + opaque(bytes(8)))
        return status, None, b""


VERSIONS = {"3": Nfs3, "4": Nfs4}


def main(address, directory, name, version, *operations):
    file = VERSIONS[version](address, directory, name)
    for operation in operations:
        word, *more = operation.split(":", 2)
        if word in ("stable", "unstable"):
            said = file.write(int(more[0]), more[1].encode(), FILE_SYNC if word == "stable" else UNSTABLE)
        else:
            said = getattr(file, word)()
        print(json.dumps([*said[:2], said[2].hex()]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
