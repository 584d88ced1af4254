# SPDX-License-Identifier: LGPL-3.0-or-later
"""set_quota.py DIRECTORY TYPE ID HARD SOFT: limits how much more than now the user (TYPE 0), group (1) or project (2) may store on that file
system, in bytes, like setquota(8). 0: no such limit."""

import ctypes
import os
import sys

SYS_QUOTACTL_FD = 443
Q_GETQUOTA, Q_SETQUOTA = 0x800007, 0x800008
QIF_BLIMITS = 1
BLOCK_BYTES = 1024


class Quota(ctypes.Structure):  # struct if_dqblk
    _fields_ = [*((name, ctypes.c_uint64) for name in ("hard_blocks", "soft_blocks", "bytes", "hard_inodes", "soft_inodes", "inodes", "block_time",
                                                       "inode_time")), ("valid", ctypes.c_uint32)]


def call(fd, command, kind, number, quota):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(SYS_QUOTACTL_FD, fd, command << 8 | kind, number, ctypes.byref(quota)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(directory, kind, number, hard, soft):
    fd = os.open(directory, os.O_RDONLY)
    quota = Quota()
    call(fd, Q_GETQUOTA, int(kind), int(number), quota)
    quota.hard_blocks, quota.soft_blocks = ((quota.bytes + int(more)) // BLOCK_BYTES if int(more) else 0 for more in (hard, soft))
    quota.valid = QIF_BLIMITS
    call(fd, Q_SETQUOTA, int(kind), int(number), quota)


if __name__ == "__main__":
    main(*sys.argv[1:])
