# SPDX-License-Identifier: LGPL-3.0-or-later
"""stream.py FILE PATTERN FLAG, in a guest: writes PATTERN to FILE again and again, at no more than 60 MB/s, until there is
FLAG. One process, which never forks: see hold.py."""

import os
import sys
import time

PIECE_BYTES = 1 << 20
PIECES_PER_SECOND = 60


def main(path, pattern, flag):
    with open(pattern, "rb") as source, open(path, "wb", buffering=0) as file:
        while not os.path.exists(flag):
            piece = source.read(PIECE_BYTES)
            if not piece:
                source.seek(0)
                continue
            file.write(piece)
            time.sleep(1 / PIECES_PER_SECOND)


main(*sys.argv[1:])
