# SPDX-License-Identifier: LGPL-3.0-or-later
"""An NFSv3 server of one export, whose tags are written from protocol/README.md alone."""

import socketserver
import struct
import sys
import threading

RPCBIND, NFS, MOUNT = 100000, 100003, 100005
PLAIN = (10**12, 6 * 10**11, 5 * 10**11)


def tagged(counts, write, readahead, resource, version=1):
    octets = (128 + version, 128 + resource, write, 128 + 5, readahead)
    crc = 0xFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = (crc << 1) ^ (0x107 if crc & 0x80 else 0)
    fields = (version << 8 | crc, resource << 8 | write, 5 << 8 | readahead)
    return tuple(-(-count // 4096) * 4096 - 4096 + 2048 + field for count, field in zip(counts, fields))


DISK = tagged(PLAIN, 217, 128, 3)


class Handler(socketserver.BaseRequestHandler):
    def take(self, size):
        data = b""
        while len(data) < size:
            data += self.request.recv(size - len(data)) or sys.exit()
        return data

    def handle(self):
        try:
            while True:
                call = self.take(struct.unpack(">I", self.take(4))[0] & 0x7FFFFFFF)
                self.reply(*struct.unpack(">I8xI", call[:16]))
        except (SystemExit, OSError):
            pass

    def reply(self, xid, program):
        body = struct.pack(">6I", xid, 1, 0, 0, 0, 0)
        if program == RPCBIND:
            body += struct.pack(">I", self.server.server_address[1])
        elif program == MOUNT:
            body += struct.pack(">2I8s2I", 0, 8, b"a handle", 1, 1)
        else:
            answers = self.server.answers
            counts = answers.pop(0) if len(answers) > 1 else answers[0]
            if counts is None:
                raise SystemExit  # hang up
            body += struct.pack(">2I6QI", 0, 0, *counts, 1, 1, 1, 0)
        self.request.sendall(struct.pack(">I", 0x80000000 | len(body)) + body)


class Server(socketserver.ThreadingTCPServer):
    """Answers FSSTAT with each of answers in turn, and then with the last one for ever."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = list(answers)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
