#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""A client of the price service that shares no code with canfs, by protocol/prices.x.

    price_probe.py ADDRESS EXPORT [--version 4] [--get] [--source ADDRESS] [--others]
    price_probe.py ADDRESS EXPORT --listen SECONDS      subscribes; then a line for each push

A line is a JSON object: status, cookies (how many it took), lease_sec, write, read_ahead, bottleneck, others; of a
push number, and token_is_ours."""

import argparse
import json
import os
import socket
import struct
import time

PROGRAM, VERSION, PORT = 0x20CA0F50, 1, 20590
GET, SUBSCRIBE, PUSH = 1, 2, 3
OK, COOKIE = 0, 1
CALL_BYTES = 192


def opaque(octets):
    return octets + bytes(-len(octets) % 4)


def call(xid, procedure, cookie, version, export, token, others, lease_sec=60, threshold=0.01):
    name = export.encode()
    body = struct.pack(">10I", xid, 0, 2, PROGRAM, VERSION, procedure, 0, 0, 0, 0) + cookie
    body += struct.pack(">II", version, len(name)) + opaque(name) + token + struct.pack(">IdI", lease_sec, threshold, others)
    padding = max(0, CALL_BYTES - len(body) - 4)
    return body + struct.pack(">I", padding) + bytes(padding)


def read_prices(octets):
    age_usec, interval_usec, count = struct.unpack_from(">III", octets)
    quotes = [struct.unpack_from(">dI", octets, 12 + 12 * i) for i in range(count)]
    return {"age_usec": age_usec, "interval_usec": interval_usec, "write": quotes[0][0], "bottleneck": quotes[0][1],
            "read_ahead": quotes[1][0], "others": struct.unpack_from(">d", octets, 12 + 12 * count)[0]}


def read_reply(octets, xid):
    head = struct.unpack_from(">6I", octets)
    if head != (xid, 1, 0, 0, 0, 0):
        raise ValueError(f"an RPC header of {head}")
    status, = struct.unpack_from(">I", octets, 24)
    if status == COOKIE:
        return {"status": status, "cookie": octets[28:44]}
    if status != OK:
        return {"status": status}
    return {"status": status, "lease_sec": struct.unpack_from(">I", octets, 28)[0]} | read_prices(octets[32:])


def read_push(octets, token):
    head = struct.unpack_from(">10I", octets)
    if head[1:6] != (0, 2, PROGRAM, VERSION, PUSH):
        raise ValueError(f"an RPC header of {head}")
    number, = struct.unpack_from(">I", octets, 56)
    return {"number": number, "token_is_ours": octets[40:56] == token} | read_prices(octets[60:])


class Probe:
    def __init__(self, address, source=None):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if source:
            self.socket.bind((source, 0))
        self.socket.connect((address, PORT))
        self.token, self.cookie, self.xid = os.urandom(16), bytes(16), 1

    def ask(self, procedure, version, export, others=False, timeout_sec=5, threshold=0.01):
        """The reply, once there is no cookie in it."""
        self.socket.settimeout(timeout_sec)
        for cookies in range(3):
            self.xid += 1
            sent = call(self.xid, procedure, self.cookie, version, export, self.token, others, threshold=threshold)
            self.socket.send(sent)
            octets = self.socket.recv(2000)
            while octets[4:8] == bytes(4):  # a push, to a subscription that was from here
                octets = self.socket.recv(2000)
            if len(octets) > len(sent):
                raise ValueError(f"{len(octets)} octets for {len(sent)}")
            reply = read_reply(octets, self.xid)
            if reply["status"] != COOKIE:
                return reply | {"cookies": cookies}
            self.cookie = reply["cookie"]
        raise ValueError("nothing but cookies")

    def listen(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                yield read_push(self.socket.recv(2000), self.token)
            except socket.timeout:
                return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("export")
    parser.add_argument("--version", type=int, default=3)
    parser.add_argument("--get", action="store_true")
    parser.add_argument("--source")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--listen", type=float, default=0)
    wanted = parser.parse_args()
    probe = Probe(wanted.address, wanted.source)
    print(json.dumps(probe.ask(GET if wanted.get else SUBSCRIBE, wanted.version, wanted.export, wanted.others)), flush=True)
    for push in probe.listen(wanted.listen):
        print(json.dumps(push), flush=True)


if __name__ == "__main__":
    main()
