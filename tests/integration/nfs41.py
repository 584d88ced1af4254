# SPDX-License-Identifier: LGPL-3.0-or-later
"""An NFSv4.1 client on the wire (RFC 8881), with the few operations that opens and delegations need. It sends only what the caller
requests: it never retransmits, and returns no delegation by itself.

    client = Client("10.0.0.1", "one")          # its own client ID and session, reclaim complete
    other = client.another_session()            # of the same client ID, on which the server does not call
    file = client.lookup("/srv/data/file")      # a file handle
    status, opened = client.open(file, READ)    # a status, and Opened(stateid, delegation) or None
    client.recalled(delegation)                 # waits for CB_RECALL: true, or false after a while

The back channel is the same connection. While the client waits for something, it answers and records the server's calls.
"""

import collections
import select
import struct
import time

from nfs_probe import ProbeError, connect, opaque

READ, WRITE, BOTH = 1, 2, 3  # share access
NO_DELEGATION = 0x400        # OPEN4_SHARE_ACCESS_WANT_NO_DELEG
NONE, READ_DELEGATION, WRITE_DELEGATION, NONE_EXT = range(4)
OK, DELAY, BAD_STATEID, DELEG_REVOKED = 0, 10008, 10025, 10087
CALLBACK_PROGRAM = 0x40000000
WAIT_SEC = 10
ANONYMOUS = bytes(16)

Delegation = collections.namedtuple("Delegation", "kind stateid")
Opened = collections.namedtuple("Opened", "stateid delegation")


class Reader:
    """XDR, from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self):
        return struct.unpack(">I", self.take(4))[0]

    def hyper(self):
        return struct.unpack(">Q", self.take(8))[0]

    def opaque(self):
        count = self.number()
        return self.take(count + -count % 4)[:count]

    def bitmap(self):
        return [self.number() for _ in range(self.number())]


def numbers(*values):
    return struct.pack(f">{len(values)}I", *values)


def attributes(size=None, mode=None):
    """fattr4 of SETATTR and OPEN."""
    words = [16 if size is not None else 0, 2 if mode is not None else 0]
    values = (struct.pack(">Q", size) if size is not None else b"") + (numbers(mode) if mode is not None else b"")
    return numbers(len(words), *words) + opaque(values)


def open_how(truncate):
    return numbers(1, 0) + attributes(size=0) if truncate else numbers(0)


class Connection:
    """RPC (RFC 5531) in both directions, for one caller at a time."""

    def __init__(self, address, source=None):
        self.socket = connect(address, 2049, source)
        self.xid = 0
        self.answer = None  # what to say to a call: its reader -> bytes

    def call(self, program, version, procedure, arguments):
        self.xid += 1
        credentials = opaque(numbers(1) + opaque(b"nfs41") + numbers(0, 0, 0))
        self._send(numbers(self.xid, 0, 2, program, version, procedure, 1) + credentials + numbers(0, 0) + arguments)
        while True:
            if not self.wait(WAIT_SEC):
                raise ProbeError(f"no answer within {WAIT_SEC} s")
            reply = self._receive()
            if reply is not None:
                return reply

    def wait(self, timeout_sec):
        return bool(select.select([self.socket], [], [], timeout_sec)[0])

    def serve(self, timeout_sec):
        """Answers one call of the server, if one comes in time."""
        if self.wait(timeout_sec):
            self._receive()

    def close(self):
        self.socket.close()

    def _send(self, message):
        self.socket.sendall(numbers(0x80000000 | len(message)) + message)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ProbeError("the server has closed the connection")
            data += more
        return data

    def _receive(self):
        """The reply to the last call; None: it was something else."""
        message, last = b"", False
        while not last:
            mark, = struct.unpack(">I", self._exactly(4))
            last = mark >> 31
            message += self._exactly(mark & 0x7FFFFFFF)
        reader = Reader(message)
        xid, kind = reader.number(), reader.number()
        if kind == 0:
            reader.take(12)
            procedure = reader.number()
            for _ in range(2):  # credentials, verifier
                reader.number()
                reader.opaque()
            said = self.answer(reader) if procedure and self.answer else b""
            self._send(numbers(xid, 1, 0, 0, 0, 0) + said)
            return None
        if xid != self.xid:
            return None
        denied = reader.number()
        reader.number()
        reader.opaque()
        if denied or reader.number():
            raise ProbeError(f"RPC refused: {message.hex()}")
        return reader


def compound(connection, minor, *operations):
    """The status, and a reader that stands before the first result."""
    reply = connection.call(100003, 4, 1, opaque(b"") + numbers(minor, len(operations)) + b"".join(operations))
    status = reply.number()
    reply.opaque()
    reply.number()
    return status, reply


class Client:
    def __init__(self, address, name, source=None, client_id=None, sequence=None):
        self.address, self.name, self.source = address, name, source
        self.connection = Connection(address, source)
        self.connection.answer = self._answer
        self.recalls = []  # stateids
        self.slot_sequence = 0
        self.client_id, self.create_sequence = client_id, sequence
        self.is_second = client_id is not None
        if not self.is_second:
            self._exchange_id()
        self._create_session()
        if not self.is_second:
            self.compound(numbers(58, 0))  # RECLAIM_COMPLETE

    def another_session(self):
        other = Client(self.address, self.name, self.source, self.client_id, self.create_sequence)
        self.create_sequence = other.create_sequence
        return other

    def _raw(self, *operations):
        return compound(self.connection, 1, *operations)

    def _exchange_id(self):
        verifier = struct.pack(">d", time.time())
        status, reply = self._raw(numbers(42) + verifier + opaque(self.name.encode()) + numbers(0, 0, 0))
        if status:
            raise ProbeError(f"EXCHANGE_ID: status {status}")
        reply.take(8)
        self.client_id, self.create_sequence = reply.hyper(), reply.number()

    def _create_session(self):
        channel = numbers(0, 1 << 20, 1 << 20, 1 << 16, 16, 16, 0)
        back = 0 if self.is_second else 2  # CREATE_SESSION4_FLAG_CONN_BACK_CHAN
        status, reply = self._raw(numbers(43) + struct.pack(">QII", self.client_id, self.create_sequence, back) + channel * 2
                                  + numbers(CALLBACK_PROGRAM, 1, 0))
        if status:
            raise ProbeError(f"CREATE_SESSION: status {status}")
        self.create_sequence += 1
        reply.take(8)
        self.session = reply.take(16)

    def compound(self, *operations):
        """The status, and a reader that stands behind SEQUENCE: for each operation its number, its status and its result."""
        self.slot_sequence += 1
        sequence = numbers(53) + self.session + numbers(self.slot_sequence, 0, 0, 0)
        status, reply = self._raw(sequence, *operations)
        reply.number()
        if reply.number():
            raise ProbeError(f"SEQUENCE: status {status}")
        reply.take(36)
        return status, reply

    def _last(self, file, operation):
        """The result of one operation on a file handle; None: it failed."""
        status, reply = self.compound(numbers(22) + opaque(file), operation)
        reply.take(8 if status else 16)
        return status, None if status else reply

    def _answer(self, call):
        """CB_COMPOUND: records recalls."""
        call.opaque()
        call.take(8)
        said = []
        for _ in range(call.number()):
            operation = call.number()
            if operation == 11:  # CB_SEQUENCE
                session, slot = call.take(16), call.take(16)
                for _ in range(call.number()):
                    call.take(16)
                    call.take(8 * call.number())
                said.append(numbers(11, 0) + session + slot[:12] + slot[8:12])
            elif operation == 4:  # CB_RECALL
                self.recalls.append(call.take(16))
                call.number()
                call.opaque()
                said.append(numbers(4, 0))
            else:
                said.append(numbers(operation, 10004))  # NFS4ERR_NOTSUPP
                break
        status = said[-1][4:8]
        return status + opaque(b"") + numbers(len(said)) + b"".join(said)

    def recalled(self, delegation, timeout_sec=WAIT_SEC):
        """Does the server recall the delegation in time? Ignores the first four octets of the stateid: its sequence number may rise."""
        deadline = time.monotonic() + timeout_sec
        while not any(stateid[4:] == delegation.stateid[4:] for stateid in self.recalls):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.connection.serve(left)
        return True

    def lookup(self, path):
        names = [numbers(15) + opaque(word.encode()) for word in path.split("/") if word]
        status, reply = self.compound(numbers(24), *names, numbers(10))
        if status:
            raise ProbeError(f"{path}: status {status}")
        reply.take(8 * (len(names) + 2))
        return reply.opaque()

    def open(self, file, access, owner="owner", truncate=False, name=None, deny=0):
        """By its handle; or, with a name, in the directory of that handle: as to truncate it one must, in NFSv4."""
        claim = numbers(4) if name is None else numbers(0) + opaque(name.encode())
        status, reply = self._last(file, numbers(18, 0, access, deny) + struct.pack(">Q", self.client_id) + opaque(owner.encode())
                                   + open_how(truncate) + claim)
        if status:
            return status, None
        stateid = reply.take(16)
        reply.take(24)
        reply.bitmap()
        kind = reply.number()
        held = kind in (READ_DELEGATION, WRITE_DELEGATION)
        return status, Opened(stateid, Delegation(kind, reply.take(16)) if held else None)

    def close_file(self, file, stateid):
        return self._last(file, numbers(4, 0) + stateid)[0]

    def read(self, file, stateid=ANONYMOUS, count=4096):
        status, reply = self._last(file, numbers(25) + stateid + struct.pack(">QI", 0, count))
        if status:
            return status, None
        reply.number()
        return status, reply.opaque()

    def write(self, file, data, stateid=ANONYMOUS):
        return self._last(file, numbers(38) + stateid + struct.pack(">QI", 0, 2) + opaque(data))[0]

    def return_delegation(self, file, delegation):
        return self._last(file, numbers(8) + delegation.stateid)[0]

    def get_size(self, file):
        status, reply = self._last(file, numbers(9, 1, 16))
        if status:
            return status, None
        reply.bitmap()
        return status, Reader(reply.opaque()).hyper()

    def set_size(self, file, size, stateid=ANONYMOUS):
        return self._last(file, numbers(34) + stateid + attributes(size=size))[0]

    def set_mode(self, file, mode):
        return self._last(file, numbers(34) + ANONYMOUS + attributes(mode=mode))[0]

    def read_dir(self, directory):
        """With the size of each file."""
        return self._last(directory, numbers(26) + bytes(16) + numbers(8192, 65536, 1, 16))[0]

    def remove(self, directory, name):
        return self._last(directory, numbers(28) + opaque(name.encode()))[0]

    def rename(self, directory, old, new):
        put = numbers(22) + opaque(directory)
        return self.compound(put, numbers(32), put, numbers(29) + opaque(old.encode()) + opaque(new.encode()))[0]

    def link(self, file, directory, name):
        return self.compound(numbers(22) + opaque(file), numbers(32), numbers(22) + opaque(directory),
                             numbers(11) + opaque(name.encode()))[0]

    def test_stateid(self, stateid):
        status, reply = self.compound(numbers(55, 1) + stateid)
        reply.take(12)
        return reply.number() if status == OK else status

    def free_stateid(self, stateid):
        return self.compound(numbers(45) + stateid)[0]


class Client40:
    """An NFSv4.0 client (RFC 7530) that opens files, each as a new owner, and is given no delegation."""

    def __init__(self, address, name):
        self.connection = Connection(address)
        self.owners = 0
        callback = numbers(CALLBACK_PROGRAM) + opaque(b"tcp") + opaque(b"0.0.0.0.0.0") + numbers(1)
        status, reply = self._compound(numbers(35) + struct.pack(">d", time.time()) + opaque(name.encode()) + callback)
        if status:
            raise ProbeError(f"SETCLIENTID: status {status}")
        reply.take(8)
        said = reply.take(16)
        self.client_id = said[:8]
        self._compound(numbers(36) + said)

    def _compound(self, *operations):
        return compound(self.connection, 0, *operations)

    def open(self, directory, name, access, truncate=False):
        self.owners += 1
        claim = numbers(0) + opaque(name.encode())
        status, reply = self._compound(numbers(22) + opaque(directory), numbers(18, 1, access, 0) + self.client_id
                                       + opaque(b"%d" % self.owners) + open_how(truncate) + claim, numbers(10))
        if status:
            return status, None
        reply.take(16)
        stateid = reply.take(16)
        reply.take(24)
        reply.bitmap()
        kind = reply.number()
        if kind != NONE:
            raise ProbeError(f"an NFSv4.0 client is given a delegation of kind {kind}")
        reply.take(8)
        file = reply.opaque()
        status, _ = self._compound(numbers(22) + opaque(file), numbers(20) + stateid + numbers(2))
        return status, Opened(stateid, None)
