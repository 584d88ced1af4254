# SPDX-License-Identifier: LGPL-3.0-or-later
"""commits.py DIRECTORY, beside the server: four files of DIRECTORY are written to and synced, record by record, as a
database's log is, until the process is ended."""

import os
import sys
import threading

WRITERS = 4
RECORD = bytes(8192)


def commit(path):
    with open(path, "wb", buffering=0) as file:
        while True:
            file.write(RECORD)
            os.fsync(file.fileno())


for number in range(WRITERS):
    threading.Thread(target=commit, args=(os.path.join(sys.argv[1], f"log{number}"),)).start()
