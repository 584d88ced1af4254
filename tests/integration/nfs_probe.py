# SPDX-License-Identifier: LGPL-3.0-or-later
"""Asks an NFS server for its space, on the wire: MOUNT and FSSTAT of NFSv3 (RFC 1813), GETATTR of NFSv4.0
(RFC 7530). And a second reader of the price tag, written from protocol/tag.h alone."""

import collections
import socket
import struct

SOURCE = None  # the address to ask from; None: any

Space = collections.namedtuple("Space", "total free avail tfiles ffiles afiles")
Tag = collections.namedtuple("Tag", "write readahead bottleneck")
BLOCK = 4096
RESOURCES = ("none", "cpu", "network", "disk", "memory")


class ProbeError(Exception):
    pass


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def connect(address, port, source=None):
    source = source or SOURCE
    return socket.create_connection((address, port), 10, source_address=(source, 0) if source else None)


def call(address, port, program, version, procedure, arguments):
    """One RPC (RFC 5531) as root over TCP; returns the body of its reply."""
    with connect(address, port) as connection:
        return call_on(connection, program, version, procedure, arguments)


def call_on(connection, program, version, procedure, arguments):
    """The same on a connection that there is, and that nobody else uses meanwhile."""
    credentials = opaque(struct.pack(">I", 1) + opaque(b"probe") + struct.pack(">III", 0, 0, 0))
    message = struct.pack(">IIIIIII", 7, 0, 2, program, version, procedure, 1) + credentials
    message += struct.pack(">II", 0, 0) + arguments
    connection.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)
    stream = connection.makefile("rb")
    reply, last = b"", False
    while not last:
        mark, = struct.unpack(">I", stream.read(4))
        last = mark >> 31
        reply += stream.read(mark & 0x7FFFFFFF)
    xid, kind, rejected, _, verifier_len = struct.unpack(">IIIII", reply[:20])
    status, = struct.unpack(">I", reply[20 + verifier_len:24 + verifier_len])
    if (xid, kind, rejected, status) != (7, 1, 0, 0):
        raise ProbeError(f"RPC refused: {reply.hex()}")
    return reply[24 + verifier_len:]


def fsstat3(address, path):
    mount = call(address, 20048, 100005, 3, 1, opaque(path.encode()))
    status, length = struct.unpack(">II", mount[:8])
    if status:
        raise ProbeError(f"MNT {path}: status {status}")
    reply = call(address, 2049, 100003, 3, 18, opaque(mount[8:8 + length]))
    status, has_attributes = struct.unpack(">II", reply[:8])
    if status:
        raise ProbeError(f"FSSTAT {path}: status {status}")
    at = 8 + 84 * has_attributes
    return Space(*struct.unpack(">6Q", reply[at:at + 48]))


def getattr4(address, path):
    names = [name.encode() for name in path.split("/") if name]
    # files_avail 21, files_free 22, files_total 23; space_avail 42, space_free 43, space_total 44
    bitmap = struct.pack(">III", 2, 0b111 << 21, 0b111 << 10)
    operations = [struct.pack(">I", 24)]
    operations += [struct.pack(">I", 15) + opaque(name) for name in names]
    operations += [struct.pack(">I", 9) + bitmap]
    arguments = opaque(b"") + struct.pack(">II", 0, len(operations)) + b"".join(operations)
    reply = call(address, 2049, 100003, 4, 1, arguments)
    status, = struct.unpack(">I", reply[:4])
    if status:
        raise ProbeError(f"GETATTR {path}: status {status}")
    afiles, ffiles, tfiles, avail, free, total = struct.unpack(">6Q", reply[-48:])
    return Space(total, free, avail, tfiles, ffiles, afiles)


def crc8(octets):
    crc = 0xFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = (crc << 1 ^ 0x07) & 0xFF if crc & 0x80 else crc << 1
    return crc


def read_tag(space):
    """The tag in the low 12 bits of the three byte counts; None if there is none."""
    total, free, avail = (count % BLOCK for count in space[:3])
    if not (total >> 11 and free >> 11 and avail >> 8 == 0b1101):
        return None
    version, resource, write, readahead = total >> 8 & 7, free >> 8 & 7, free & 255, avail & 255
    if crc8([8 * 16 + version, 8 * 16 + resource, write, 8 * 16 + 5, readahead]) != total & 255:
        return None
    if version != 1 or resource >= len(RESOURCES):
        return None
    return Tag(write / 255, readahead / 255, RESOURCES[resource])
