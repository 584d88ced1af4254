# SPDX-License-Identifier: LGPL-3.0-or-later
"""The files of the reading experiments. Each 4 KB of them begin with their offset and the file's number, which is
its name: canfs-job-pattern compares. Nothing is zero, so that nothing is free of charge."""

import mmap
import os
import struct

MIB = 1 << 20
STAMP_EVERY = 4096  # as in bench/jobs/pattern.c
STAMP = struct.Struct("<QQ")


def stamp(block, offset, number):
    """Marks a block that lies at this offset of this file."""
    for at in range(0, len(block), STAMP_EVERY):
        STAMP.pack_into(block, at, offset + at, number)


def make(directory, first, count, mib):
    """Files `first`, `first` + 1, ... of so many MiB each, one after the other on the disk, past the page cache;
    their names."""
    names = [str(number) for number in range(first, first + count)]
    with mmap.mmap(-1, MIB) as block:  # aligned, as O_DIRECT wants it
        block.write(b"\xa5" * MIB)
        for name in names:
            fd = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DIRECT, 0o644)
            try:
                os.posix_fallocate(fd, 0, mib * MIB)
                for offset in range(0, mib * MIB, MIB):
                    stamp(block, offset, int(name))
                    os.pwrite(fd, block, offset)
                os.fsync(fd)
            finally:
                os.close(fd)
    return names
