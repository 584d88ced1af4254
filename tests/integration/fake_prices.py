# SPDX-License-Identifier: LGPL-3.0-or-later
"""A price service of one export, written from protocol/prices.x alone: pushes to the last subscriber.

    fake_prices.py ADDRESS PORT PRICE BOTTLENECK        until it is killed"""

import contextlib
import socket
import struct
import sys
import threading

PROGRAM, VERSION = 0x20CA0F50, 1
SUBSCRIBE, PUSH = 2, 3
QUIET_SECONDS = 0.5
AGE_USEC, INTERVAL_USEC, DISK, BACKEND = 0, 100000, 3, 5


def prices(price, bottleneck, others):
    return struct.pack(">III", AGE_USEC, INTERVAL_USEC, 2) + struct.pack(">dI", price, bottleneck) * 2 + struct.pack(">d", others)


class PriceService:
    def __init__(self, price, address="127.0.0.1", port=0, bottleneck=DISK):
        self.bottleneck = bottleneck
        self.price, self.others, self.client, self.token, self.number = price, -1, None, b"", 0
        self.lock, self.over = threading.Lock(), threading.Event()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, port))
        self.socket.settimeout(QUIET_SECONDS)
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.over.set()
        self.socket.close()

    def costs(self, price, others=-1):
        """others: operations of other clients in flight; negative: it does not tell."""
        self.price, self.others = price, others
        self.push()

    def serve(self):
        while not self.over.is_set():
            try:
                call, client = self.socket.recvfrom(2000)
            except socket.timeout:
                self.push()
            except OSError:
                return
            else:
                with contextlib.suppress(OSError):  # of the socket, which may be closed by now
                    self.take(call, client)

    def take(self, call, client):
        head = struct.unpack_from(">6I", call)
        if head[1:] != (0, 2, PROGRAM, VERSION, SUBSCRIBE):
            return
        name_bytes, = struct.unpack_from(">I", call, 60)
        token_at = 64 + name_bytes + -name_bytes % 4
        lease_sec, = struct.unpack_from(">I", call, token_at + 16)
        with self.lock:
            token = call[token_at:token_at + 16]
            if token != self.token:
                self.token, self.number = token, 0
            self.client = client if lease_sec else None
            self.socket.sendto(struct.pack(">8I", head[0], 1, 0, 0, 0, 0, 0, lease_sec) + prices(self.price, self.bottleneck, self.others), client)

    def push(self):
        with self.lock, contextlib.suppress(OSError):
            if self.client:
                self.number += 1
                self.socket.sendto(struct.pack(">10I", self.number, 0, 2, PROGRAM, VERSION, PUSH, 0, 0, 0, 0) + self.token +
                                   struct.pack(">I", self.number) + prices(self.price, self.bottleneck, self.others), self.client)


if __name__ == "__main__":
    PriceService(float(sys.argv[3]), sys.argv[1], int(sys.argv[2]), int(sys.argv[4])).serve()
