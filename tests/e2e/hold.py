# SPDX-License-Identifier: LGPL-3.0-or-later
"""hold.py FILE PATTERN FLAG DIRTY_BYTES, in a guest: writes PATTERN to FILE a little at a time until
vm.dirty_bytes is not DIRTY_BYTES any more, since an agent holds it back, and then the rest; creates
FLAG.held, and keeps FILE open until there is FLAG.close.

One process, which never forks: the end of a child would close its copy of the descriptor, and an NFS
client writes back at each close()."""

import os
import sys
import time

PIECE_BYTES = 1 << 20


def dirty_bytes():
    with open("/proc/sys/vm/dirty_bytes", encoding="ascii") as file:
        return file.read().strip()


def main(path, pattern, flag, stock):
    held = False
    with open(pattern, "rb") as source, open(path, "wb", buffering=0) as file:
        while piece := source.read(PIECE_BYTES):
            file.write(piece)
            if not held:
                held = dirty_bytes() != stock
                time.sleep(0 if held else 0.1)
        with open(f"{flag}.{'held' if held else 'sent'}", "w", encoding="ascii"):
            pass
        while not os.path.exists(f"{flag}.close"):
            time.sleep(0.1)


main(*sys.argv[1:])
