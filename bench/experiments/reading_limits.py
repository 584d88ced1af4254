# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the disk gives at most, in MB/s: the best of some, as what else runs here can only slow it down."""

import time

from bench.lab.host import run

LIMIT_MIB = 128
TRIES = 3
TIMEOUT_SECONDS = 60


def limit_of(disk):
    def read(_):
        begin = time.monotonic()
        run("dd", f"if={disk.loop}", "of=/dev/null", "bs=64M", f"count={LIMIT_MIB // 64}", "iflag=direct", "status=none",
            timeout=TIMEOUT_SECONDS)
        return time.monotonic() - begin
    return fastest(disk, read)


def limit_of_guest(lab):
    """Of the same disk, as the guest has it in which the kernel serves."""
    return fastest(lab.disk, lambda number: lab.server.read(f"limit-{number}", "/dev/vda", LIMIT_MIB, "iflag=direct"))


def fastest(disk, read):
    """read(number of the try) reads LIMIT_MIB, and returns how many seconds it took."""
    seconds = []
    for number in range(TRIES):
        disk.cold()
        seconds.append(read(number))
    return LIMIT_MIB * (1 << 20) / 1e6 / min(seconds)
