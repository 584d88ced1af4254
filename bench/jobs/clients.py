#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""clients.py ADDRESS EXPORT FILE SMALL LARGE READS: clients of NFSv3 at consecutive addresses, of which the server's host has all.

LARGE clients stay connected and read 64 KiB READS times for each of SMALL clients, that come one after the other, read 4 KiB and
go. With LARGE = 0 all of SMALL are connected at once, until standard input ends.

On one host the source of a connection is the address that it goes to. Prints {"large": [address, ...], "reads": of each, "seconds"},
or {"connected": N}."""

import ipaddress
import json
import resource
import socket
import struct
import sys
import time

NFS_PORT, MOUNT_PORT, NFS, MOUNT = 2049, 20048, 100003, 100005
MNT, LOOKUP, READ = 1, 3, 6
LARGE_BYTES, SMALL_BYTES = 65536, 4096


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


ROOT = opaque(struct.pack(">6I", 1, 0, 0, 0, 0, 0))  # AUTH_SYS: no name of a machine, no more groups


class Client:
    def __init__(self, address, port=NFS_PORT, program=NFS):
        self.program = program
        self.socket = socket.create_connection((str(address), port), 30)

    def call(self, procedure, arguments):
        """What follows the status of a reply that is OK."""
        head = struct.pack(">7I", 1, 0, 2, self.program, 3, procedure, 1) + ROOT + struct.pack(">2I", 0, 0)
        self.socket.sendall(struct.pack(">I", 1 << 31 | len(head + arguments)) + head + arguments)
        length, = struct.unpack(">I", self.receive(4))
        reply = self.receive(length & ~(1 << 31))
        if len(reply) < 28 or any(struct.unpack_from(">II", reply, 20)):
            sys.exit(f"clients.py: program {self.program}, procedure {procedure}: an error")
        return reply[28:]

    def receive(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                sys.exit("clients.py: the server has closed a connection")
            data += more
        return data

    def read(self, file, count):
        self.call(READ, file + struct.pack(">QI", 0, count))


def handle(reply):
    """That a reply begins with, as an argument."""
    return opaque(reply[4:4 + struct.unpack_from(">I", reply)[0]])


def find(address, export, name):
    """The handle of a file."""
    root = Client(address, MOUNT_PORT, MOUNT).call(MNT, opaque(export.encode()))
    return handle(Client(address).call(LOOKUP, handle(root) + opaque(name.encode())))


def hold(addresses, file):
    clients = [Client(address) for address in addresses]
    for client in clients:
        client.read(file, SMALL_BYTES)
    print(json.dumps({"connected": len(clients)}), flush=True)
    sys.stdin.read()


def come_and_go(small, large, file, reads):
    clients, begin = [Client(address) for address in large], time.monotonic()
    for address in small:
        client = Client(address)
        client.read(file, SMALL_BYTES)
        client.socket.close()
        for heavy in clients:
            for _ in range(reads):
                heavy.read(file, LARGE_BYTES)
    print(json.dumps({"large": list(map(str, large)), "reads": len(small) * reads, "seconds": time.monotonic() - begin}), flush=True)


def main(first, export, name, small, large, reads):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    addresses = [ipaddress.ip_address(first) + number for number in range(small + large)]
    file = find(addresses[0], export, name)
    if large:
        come_and_go(addresses[large:], addresses[:large], file, reads)
    else:
        hold(addresses, file)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
