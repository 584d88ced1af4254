# SPDX-License-Identifier: LGPL-3.0-or-later
"""The modelled disk under a loop device, with a file system on it."""

import json
import os
import time
from pathlib import Path

from bench.lab.host import LabError, end, get, is_mounted, put, run, spawn, wait_for

READ_AHEAD_KIB = 128
# The server is to behave like one with 512 MB: the kernel's own limit for it would be 20 % of that.
DIRTY_MAX_BYTES = 100_000_000
# What the modelled disk can be (a mode of it), and what its queue/rotational says.
DEVICES = {"hdd": 1, "hdd-ncq": 1, "ssd": 0}
SETTLE_SECONDS = 0.3
FUSE_CONNECTIONS = Path("/sys/fs/fuse/connections")


def fincore(paths):
    """The command that prints how many bytes of each are cached."""
    return ["fincore", "-b", "-n", "-o", "RES", *paths]


class Disk:
    def __init__(self, program, directory, size_mib, log, device="hdd"):
        if device not in DEVICES:
            raise LabError(f"device {device!r}: must be one of {', '.join(DEVICES)}")
        self.device = device
        self.program = program
        self.model = Path(directory) / "model"
        self.mount = Path(directory) / "export"
        self.size_mib = size_mib
        self.log = log
        self.process = None
        self.connection = None  # number of the FUSE connection
        self.loop = None
        self._is_writable = True

    def start(self):
        """With an empty file system on it."""
        self.attach()
        # Everything that mkfs or mount would leave for later would come as I/O in the middle of a run: ext4
        # reads block bitmaps, all over the disk, within five seconds.
        run("mkfs.ext4", "-q", "-N", 65536, "-m", 0, "-E",
            "nodiscard,lazy_itable_init=0,lazy_journal_init=0", self.loop, timeout=120)
        self.mount.mkdir()
        run("mount", "-t", "ext4", "-o", "noatime,no_prefetch_block_bitmaps", self.loop, self.mount)

    def writable(self, is_writable):
        """If not, the journal is empty, and another kernel may mount the file system as well, read-only. (An unmount would
        not do: whatever mount namespace was made meanwhile has the file system, too.)"""
        if is_writable != self._is_writable:
            run("mount", "-o", f"remount,{'rw' if is_writable else 'ro'}", self.mount)
            self._is_writable = is_writable

    def attach(self):
        """Only the block device: self.loop."""
        self.model.mkdir(parents=True)
        self.process = spawn(self.program, "--size-mib", self.size_mib, self.model,
                             stdout=self.log, stderr=self.log)
        wait_for(lambda: self.process.poll() is not None or is_mounted(self.model), 10,
                 "canfs-disk: mount")
        if self.process.poll() is not None:
            raise LabError("canfs-disk ended at once: see its log")
        self.connection = os.minor(os.stat(self.model).st_dev)
        self.loop = run("losetup", "--direct-io=on", "--show", "-f", self.model / "disk").strip()
        self.become(self.device)

    def become(self, device):
        """Another of DEVICES: what is measured next. The model is off until cold()."""
        self.device = device
        self.control("mode=free")
        self._tune()

    def _tune(self):
        block = Path("/sys/block") / Path(self.loop).name
        if get(block / "loop/dio") != "1":
            raise LabError(f"{self.loop} refuses direct I/O: the page cache would hide the disk")
        put(block / "queue/scheduler", "none")
        put(block / "queue/rotational", DEVICES[self.device])
        put(block / "queue/max_sectors_kb", 1024)
        # Only now: newer kernels recompute it when the queue's settings change.
        self.read_ahead(READ_AHEAD_KIB)
        bdi = block / "bdi"
        if (bdi / "strict_limit").exists():  # Linux >= 6.2
            put(bdi / "strict_limit", 1)
            put(bdi / "max_bytes", DIRTY_MAX_BYTES)

    def read_ahead(self, kib):
        """Of files that are opened from now on."""
        put(Path("/sys/block") / Path(self.loop).name / "queue/read_ahead_kb", kib)

    def control(self, words):
        put(self.model / "control", words)

    def stat(self):
        return json.loads(get(self.model / "stat"))

    def cold(self):
        """Nothing dirty, nothing cached, neither in the host's memory nor in the drive's; the model is on."""
        self.control("mode=free")
        if is_mounted(self.mount):
            run("sync", "-f", self.mount)
        put("/proc/sys/vm/drop_caches", 3)
        self.control(f"mode={self.device} flushcache reset")

    def cached_bytes(self, names):
        """What the host's page cache has of these files."""
        return sum(map(int, run(*fincore(self.mount / name for name in names)).split()))

    def settled(self, seconds=10):
        """The counters, once no read is under way any more."""
        deadline, last, now = time.monotonic() + seconds, None, self.stat()
        while now["reads"] != last:
            if time.monotonic() > deadline:
                raise LabError(f"the disk still reads {seconds} s after the last reader ended")
            time.sleep(SETTLE_SECONDS)
            last, now = now["reads"], self.stat()
        return now

    def write_file(self, name, megabytes):
        """Really written: unwritten extents would be read without the disk. Zeros cost no memory."""
        self.control("mode=free")
        block = 1_000_000 // 4096 * 4096
        run("dd", "if=/dev/zero", f"of={self.mount / name}", f"bs={block}", f"count={megabytes}",
            "oflag=direct", "conv=fsync", "status=none", timeout=300)

    def let_go(self):
        """Before anything that may have I/O outstanding is ended: let it complete at once. If the
        daemon is dead or hangs, abort its connection; then all that waits for it fails."""
        if self.process is None or self._obeys("mode=free"):
            return
        mounted = any(FUSE_CONNECTIONS.iterdir())
        if not mounted:
            run("mount", "-t", "fusectl", "none", FUSE_CONNECTIONS, check=False)
        try:
            put(FUSE_CONNECTIONS / str(self.connection) / "abort", 1)
        except LabError:
            pass  # the daemon is dead, and its connection with it
        if not mounted:
            run("umount", FUSE_CONNECTIONS, check=False)

    def stop(self):
        self.let_go()
        if is_mounted(self.mount):
            run("umount", self.mount, check=False)
        if is_mounted(self.mount):
            run("umount", "-l", self.mount, check=False)
        if self.loop:
            run("losetup", "-d", self.loop, check=False)
            self.loop = None
        end(self.process)
        self.process = None
        if is_mounted(self.model):
            run("umount", "-l", self.model, check=False)

    def _obeys(self, words):
        """In a process of its own: a hung daemon would hang the one that asks."""
        try:
            run("sh", "-c", 'echo "$1" >"$2"', "sh", words, self.model / "control", timeout=2)
        except LabError:
            return False
        return True
