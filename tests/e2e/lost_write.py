# SPDX-License-Identifier: LGPL-3.0-or-later
"""lost_write.py PATH TEXT READY GO: in a guest, writes TEXT to the beginning of a file and has it sent to the server, makes the
file READY, and waits for GO before it says by fsync() that it must be there. Prints what that answers."""

import ctypes
import os
import sys
import time
from pathlib import Path

SYNC_FILE_RANGE_WRITE_AND_WAIT = 1 | 2 | 4

path, text, ready, go = sys.argv[1:]
with open(path, "r+b", buffering=0) as file:
    file.write(text.encode())
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.sync_file_range(file.fileno(), ctypes.c_int64(0), ctypes.c_int64(0), SYNC_FILE_RANGE_WRITE_AND_WAIT):
        sys.exit(os.strerror(ctypes.get_errno()))
    Path(ready).touch()
    while not os.path.exists(go):
        time.sleep(0.05)
    try:
        os.fsync(file.fileno())
        print("done")
    except OSError as error:
        print(os.strerror(error.errno))
