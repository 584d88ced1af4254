# SPDX-License-Identifier: LGPL-3.0-or-later
"""append.py FILE FLAG, in a guest: appends records to FILE, which it keeps open, until there is FLAG.close. Each eighth record fills a page and
is synced: no two pages are on their way at once, which the server might take in the other order. FLAG.synced then holds how many are. At
the end prints how many were written."""

import itertools
import os
import sys
import time

RECORD_BYTES = 512
RECORDS_PER_SYNC = 8
PAUSE_SECONDS = 0.005


def record(number):
    return f"{number:{RECORD_BYTES - 1}}\n".encode("ascii")


def tell(flag, number):
    with open(f"{flag}.new", "w", encoding="ascii") as file:
        file.write(str(number))
    os.rename(f"{flag}.new", f"{flag}.synced")


def main(path, flag):
    with open(path, "ab", buffering=0) as file:
        for number in itertools.count(1):
            file.write(record(number))
            time.sleep(PAUSE_SECONDS)
            if number % RECORDS_PER_SYNC == 0:
                os.fsync(file.fileno())
                tell(flag, number)
                if os.path.exists(f"{flag}.close"):
                    break
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
