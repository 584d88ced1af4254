# SPDX-License-Identifier: LGPL-3.0-or-later
"""A loop device of our own over the modelled disk, with the queue that such a disk has on a Debian server.

A loop device is born as flash: not rotational, throttled (WBT) at 2 ms, 128 commands deep, without a scheduler; and it keeps
what its last user has set. So each one is new, all that makes a difference is set and read back, and it is removed at the end.
The depth cannot be set, the number of its tags can: nr_requests without a scheduler."""

import errno
import fcntl
import time
from dataclasses import dataclass
from pathlib import Path

from bench.lab.host import LabError, get, put, run

CONTROL = "/dev/loop-control"
LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81  # <linux/loop.h>
ANY_FREE_NUMBER = -1
BUSY_SECONDS = 2
SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
SCHEDULED = 64  # what a scheduler has of requests: of a SATA controller's 32 tags twice as many
MAX_SECTORS_KIB = 1024
# The server is to behave like one with 512 MB: the kernel's own limit for it would be 20 % of that.
DIRTY_MAX_BYTES = 100_000_000


@dataclass(frozen=True)
class DeviceType:
    rotational: int
    tags: int       # commands that the disk takes at a time; 4 is the least that a loop device can be given
    scheduler: str
    wbt_usec: int   # the kernel's default for it
    mode: str       # of the modelled disk


# What the modelled disk can be.
DEVICES = {
    "hdd-ncq": DeviceType(1, 32, "mq-deadline", 75000, "hdd-ncq"),
    "hdd": DeviceType(1, 4, "mq-deadline", 75000, "hdd"),
    "ssd": DeviceType(0, 32, "none", 2000, "ssd"),
    "memory": DeviceType(0, 64, "none", 2000, "free"),  # as fast as this machine: what is left is processor time
}


def throttling_usec(device, scheduler):
    """The kernel's default for wbt_lat_usec: bfq does without, since it throttles by itself."""
    return 0 if scheduler == "bfq" else DEVICES[device].wbt_usec


def _control(request, number):
    with open(CONTROL, "rb") as control:
        return fcntl.ioctl(control, request, number)


def remove(number, seconds=BUSY_SECONDS):
    """Forgets the device and all its settings; False: somebody still uses it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            _control(LOOP_CTL_REMOVE, number)
            return True
        except OSError as error:
            if error.errno == errno.ENODEV:
                return True
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return False
        time.sleep(0.05)


class Loop:
    def __init__(self, note):
        """note: a file in which the device's number stands while there is one, for the sweep after a SIGKILL."""
        self._note = Path(note)
        self._number = None
        self._settings = {}  # of its queue, as they are to be

    @property
    def path(self):
        return None if self._number is None else f"/dev/loop{self._number}"

    @property
    def block(self):
        return Path(f"/sys/block/loop{self._number}")

    def attach(self, file, offset_bytes=0, size_bytes=0):
        """With an offset and a size: only that part of it, as a partition would be."""
        try:
            self._number = _control(LOOP_CTL_ADD, ANY_FREE_NUMBER)
        except OSError as error:
            raise LabError(f"{CONTROL}: no new loop device: {error.strerror}") from error
        self._note.write_text(str(self._number), encoding="ascii")
        run("losetup", "--direct-io=on", f"--offset={offset_bytes}", f"--sizelimit={size_bytes}", self.path, file)
        if get(self.block / "loop/dio") != "1":
            raise LabError(f"{self.path} refuses direct I/O: the page cache would hide the disk")

    def detach(self):
        if self._number is None:
            return
        run("losetup", "-d", self.path, check=False)
        if remove(self._number):
            self._note.unlink(missing_ok=True)
        self._number = None

    def tune(self, device, scheduler, read_ahead_kib):
        """As the kernel and Debian set up a disk of that type."""
        queue, kind = self.block / "queue", DEVICES[device]
        put(queue / "scheduler", "none")
        put(queue / "nr_requests", kind.tags)
        if scheduler != "none":
            put(queue / "scheduler", scheduler)
            put(queue / "nr_requests", SCHEDULED)
        wbt_usec = throttling_usec(device, scheduler)
        # The model knows no TRIM; the first discard that it refuses would change the queue's settings, whenever that comes.
        settings = {"rotational": kind.rotational, "wbt_lat_usec": wbt_usec, "max_sectors_kb": MAX_SECTORS_KIB, "discard_max_bytes": 0,
                    # last: newer kernels recompute it when the queue's settings change
                    "read_ahead_kb": read_ahead_kib}
        for name, value in settings.items():
            put(queue / name, value)
        self._settings = {"write_cache": "write back", "nr_requests": kind.tags if scheduler == "none" else SCHEDULED, **settings}
        self.check()
        if f"[{scheduler}]" not in get(queue / "scheduler"):
            raise LabError(f"{self.path}: the scheduler is {get(queue / 'scheduler')}, not {scheduler}")
        self._bound_dirty_pages()

    def check(self):
        """The queue is as it was set: the kernel makes it anew when the device's limits change (Linux 6.18)."""
        for name, value in self._settings.items():
            found = get(self.block / "queue" / name)
            if found != str(value):
                raise LabError(f"{self.path}: queue/{name} is {found} and not {value}")

    def _bound_dirty_pages(self):
        bdi = self.block / "bdi"
        if (bdi / "strict_limit").exists():  # Linux >= 6.2
            put(bdi / "strict_limit", 1)
            put(bdi / "max_bytes", DIRTY_MAX_BYTES)

    def read_ahead(self, kib):
        """Of files that are opened from now on."""
        self._settings["read_ahead_kb"] = kib
        put(self.block / "queue/read_ahead_kb", kib)
