# SPDX-License-Identifier: LGPL-3.0-or-later
"""read_whole.py forward|backward KIB FILE...: reads the files in such blocks, side by side; prints the MD5 of each, a line each."""

import hashlib
import os
import sys


def main(pattern, kib, *paths):
    block = int(kib) << 10
    files = [os.open(path, os.O_RDONLY) for path in paths]
    sizes = [os.fstat(file).st_size for file in files]
    read = [bytearray(size) for size in sizes]
    starts = range(0, max(sizes), block)
    for start in starts if pattern == "forward" else reversed(starts):
        for file, data in zip(files, read):
            piece = os.pread(file, block, start)
            data[start:start + len(piece)] = piece
    for data in read:
        print(hashlib.md5(data).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
