# SPDX-License-Identifier: LGPL-3.0-or-later
"""The modelled disk under a loop device, with a file system on it."""

import errno
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.lab.host import LabError, end, get, is_mounted, put, run, spawn, wait_for
from bench.lab.loop import DEVICES, SCHEDULERS, Loop
from bench.lab.sweep import LOOP_NOTE

READ_AHEAD_KIB = 128
LOG_MIB = 256  # of the flash that holds a log: what mkfs makes of it on a disk of the lab's size is as large, of XFS a fourth
SETTLE_SECONDS = 0.3
UNMOUNT_SECONDS = 10
LOCAL, BACKENDS = "local", ("local", "gluster", "ceph")
ZONES = 16  # of the modelled disk: CANFS_DISK_ZONES
OUTER_ZONE, INNER_ZONE = 0, ZONES - 1
FUSE_CONNECTIONS = Path("/sys/fs/fuse/connections")

# Everything that mkfs or mount would leave for later would come as I/O in the middle of a run: ext4 reads block bitmaps, all
# over the disk, within five seconds. And the seed by which ext4 spreads directories over the disk is random otherwise.
_EXT4 = ("mkfs.ext4", "-q", "-N", 65536, "-m", 0, "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0,"
         "hash_seed=6e667363-616e-4653-8000-000000000000")
_EXT4_MOUNT = "noatime,no_prefetch_block_bitmaps"


class MountError(LabError):
    """The kernel refuses the file system."""


class DamageError(LabError):
    """fsck found something."""


@dataclass(frozen=True)
class FileSystem:
    """{log} in a command or in the options stands for the block device of the log on flash."""
    kernel: str          # its name there
    mkfs: tuple
    options: str         # of mount
    check: tuple         # changes nothing; fails if something is wrong
    make_log: tuple = () # empty: the log is on the disk itself


_EXT4_CHECK = ("e2fsck", "-f", "-n")
_XFS = ("mkfs.xfs", "-q", "-f", "-K")
_XFS_CHECK = ("xfs_repair", "-n")
FILESYSTEMS = {
    "ext4": FileSystem("ext4", _EXT4, _EXT4_MOUNT, _EXT4_CHECK),
    "ext4-fast-commit": FileSystem("ext4", (*_EXT4, "-O", "fast_commit"), _EXT4_MOUNT, _EXT4_CHECK),
    "ext4-external-journal": FileSystem("ext4", (*_EXT4, "-J", "device={log}"), f"{_EXT4_MOUNT},journal_path={{log}}", (*_EXT4_CHECK, "-j", "{log}"),
                                        ("mke2fs", "-q", "-F", "-b", 4096, "-O", "journal_dev", "{log}")),
    "xfs": FileSystem("xfs", _XFS, "noatime", _XFS_CHECK),
    "xfs-external-log": FileSystem("xfs", (*_XFS, "-l", f"logdev={{log}},size={LOG_MIB // 4}m"), "noatime,logdev={log}",
                                   (*_XFS_CHECK, "-l", "{log}"), ("true",)),
    "btrfs": FileSystem("btrfs", ("mkfs.btrfs", "-q", "-f", "-K"), "noatime", ("btrfs", "check", "--readonly")),
}


@dataclass(frozen=True)
class DiskSettings:
    """The disk of an experiment; the default is a SATA disk as Debian sets it up."""
    device: str = "hdd-ncq"    # of DEVICES
    scheduler: str = None      # of SCHEDULERS; None: that of the device type
    filesystem: str = "ext4"   # of FILESYSTEMS
    backend: str = LOCAL       # of BACKENDS: what the server exports, the file system itself or a volume above it (backend.py)
    zone: int = None           # in which all of it lies, as in a partition; None: on the whole disk

    def __post_init__(self):
        for what, value, allowed in (("device", self.device, DEVICES), ("scheduler", self.scheduler, (None, *SCHEDULERS)),
                                     ("filesystem", self.filesystem, FILESYSTEMS), ("backend", self.backend, BACKENDS)):
            if value not in allowed:
                raise LabError(f"{what} {value!r}: must be one of {', '.join(filter(None, allowed))}")

    @property
    def name(self):
        """In results: what differs from the default stands behind the device's name."""
        more = (self.scheduler, self.filesystem if self.filesystem != "ext4" else None, self.backend if self.backend != LOCAL else None)
        return "-".join(filter(None, (self.device, *more)))

    @property
    def scheduler_name(self):
        return self.scheduler or DEVICES[self.device].scheduler

    def describe(self):
        kind = DEVICES[self.device]
        return (f"{self.device}: {kind.tags} tags, scheduler {self.scheduler_name}, "
                f"write-back throttling {kind.wbt_usec / 1000:g} ms, {self.filesystem}"
                f"{f', {self.backend}' if self.backend != LOCAL else ''}")


def fincore(paths):
    """The command that prints how many bytes of each are cached."""
    return ["fincore", "-b", "-n", "-o", "RES", *paths]


class Disk:
    fsal = "VFS"           # for what it exports
    blocks = {}            # and what the server's configuration needs for it
    fsal_memory_bytes = 0  # and what it takes for itself

    def __init__(self, program, directory, size_mib, log, settings=DiskSettings()):
        self.settings = settings
        self.program = program
        self.model = Path(directory) / "model"
        self.own_mount = Path(directory) / "export"  # of the disk's file system
        self.mount = self.own_mount                  # of what is exported
        self.size_mib = size_mib
        self.log = log
        self.process = None
        self.connection = None  # number of the FUSE connection
        self._loop = Loop(Path(directory) / LOOP_NOTE)
        self._is_writable = True
        self._flash = None  # another Disk, for file systems with a log on flash

    def start(self):
        """With an empty file system on it."""
        self.attach()
        self.make_file_system()

    def make_file_system(self):
        """As the settings say, empty, and mounted; of one that was there nothing is left, and nobody may use it."""
        self._unmount()
        if self._filesystem.make_log:
            self._attach_flash()
            run(*self._words(self._filesystem.make_log))
        run(*self._words(self._filesystem.mkfs), self.loop, timeout=120)
        self._mount()

    @property
    def _filesystem(self):
        return FILESYSTEMS[self.settings.filesystem]

    def _attach_flash(self):
        if not self._flash:
            directory = self.model.parent / "flash"
            directory.mkdir()
            self._flash = Disk(self.program, directory, LOG_MIB, self.log, DiskSettings("ssd"))
            self._flash.attach()
            self._flash.model_on()  # for good: it is fast enough for setting up

    def _words(self, command):
        return [str(word).format(log=self._flash.loop if self._flash else None) for word in command]

    def _mount(self):
        self.own_mount.mkdir(exist_ok=True)
        try:
            run("mount", "-t", self._filesystem.kernel, "-o", *self._words([self._filesystem.options]), self.loop, self.own_mount)
        except LabError as error:
            raise MountError(str(error)) from error

    def _unmount(self):
        """Also from the kernel's memory: what a power cut has left there would hide what it did to the disk."""
        if is_mounted(self.own_mount):
            run("umount", self.own_mount)
        wait_for(self._is_free, UNMOUNT_SECONDS, f"{self.loop}: end of its use, be it by another mount namespace")

    def _is_free(self):
        try:
            os.close(os.open(self.loop, os.O_RDONLY | os.O_EXCL))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def power_cut(self, seed):
        """Part of what no flush has covered is lost; from now on everything fails. The counters tell how much."""
        for disk in filter(None, (self, self._flash)):
            disk.control(f"powercut={seed}")

    def power_cut_again(self, seed):
        """The same cut, of which another part is lost; what was written since never was. The power is on again, as after power_on()."""
        self._unmount()
        for disk in filter(None, (self, self._flash)):
            disk.control(f"recut={seed}")
        self.power_on()

    def power_on(self):
        """Mounts the file system again, which replays its log; nobody may have used it any more. The model is off. MountError:
        it cannot be mounted."""
        self._unmount()
        self.begin_anew()
        if self._flash:
            self._flash.begin_anew()
            self._flash.model_on()
        self._mount()

    def begin_anew(self):
        """With power, and with a new loop device: of an old one the kernel remembers that writes have failed."""
        self._loop.detach()
        self.control("poweron")
        self._loop.attach(self.model / "disk")
        self.become(self.settings)

    def check_file_system(self):
        """DamageError says what is wrong with it, and it is not mounted then; nobody may use it meanwhile."""
        self._unmount()
        try:
            run(*self._words(self._filesystem.check), self.loop, timeout=300)
        except LabError as error:
            raise DamageError(str(error)) from error
        self._mount()

    @property
    def loop(self):
        """Its block device; None: not attached."""
        return self._loop.path

    @property
    def device(self):
        return self.settings.device

    def writable(self, is_writable):
        """If not, the journal is empty, and another kernel may mount the file system as well, read-only. (An unmount would
        not do: whatever mount namespace was made meanwhile has the file system, too.)"""
        if is_writable != self._is_writable:
            run("mount", "-o", f"remount,{'rw' if is_writable else 'ro'}", self.own_mount)
            self._is_writable = is_writable

    def lend(self):
        """To another kernel, which mounts the file system as its own, with the scheduler that it has there: here, it is not mounted,
        and there is none. LabError: somebody here uses it. Until take_back()."""
        self._unmount()
        self._loop.tune(self.device, "none", READ_AHEAD_KIB)

    def take_back(self):
        """The other kernel has unmounted it, or is gone: the log is replayed then. The model is off."""
        self.become(self.settings)
        self._mount()

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
        zone_bytes = (self.size_mib << 20) // ZONES
        self._loop.attach(self.model / "disk", *((self.settings.zone * zone_bytes, zone_bytes) if self.settings.zone is not None else ()))
        self.become(self.settings)

    def become(self, settings):
        """Another disk below the same file system: what is measured next. The model is off until cold()."""
        self.settings = settings
        self.control("mode=free")
        self._loop.tune(settings.device, settings.scheduler_name, READ_AHEAD_KIB)

    def read_ahead(self, kib):
        """Of files that are opened from now on."""
        self._loop.read_ahead(kib)

    def model_on(self, words=""):
        """Its caches stay as they are."""
        self.control(f"mode={DEVICES[self.device].mode} {words}")

    def control(self, words):
        put(self.model / "control", words)

    def stat(self):
        return json.loads(get(self.model / "stat"))

    def cold(self):
        """Nothing dirty, nothing cached, neither in the host's memory nor in the drive's; the model is on."""
        self._loop.check()
        self.control("mode=free")
        if is_mounted(self.own_mount):
            run("sync", "-f", self.own_mount)
        put("/proc/sys/vm/drop_caches", 3)
        self.model_on("flushcache reset")

    def forget_server(self):
        """It has ended."""

    def cached_bytes(self, names):
        """What the host's page cache has of these files."""
        return sum(map(int, run(*fincore(self.mount / name for name in names)).split()))

    def settled(self, seconds=10):
        """The counters, once no read is in flight any more."""
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
        if self._flash:
            self._flash.let_go()
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
        if is_mounted(self.own_mount):
            run("umount", self.own_mount, check=False)
        if is_mounted(self.own_mount):
            run("umount", "-l", self.own_mount, check=False)
        if self._flash:
            self._flash.stop()
            self._flash = None
        self._loop.detach()
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
