# SPDX-License-Identifier: LGPL-3.0-or-later
"""The NFS server of the Linux kernel, for a host whose own has none: in a User-Mode Linux guest, which has the modelled
disk to itself.

	guest: nfsd, page cache, ext4, virtio-blk -- vhost-user socket -- qemu-storage-daemon -- loop device -- canfs-disk

qemu-storage-daemon reads with O_DIRECT through io_uring: the host caches nothing and reads nothing ahead, and the disk
has as many requests outstanding as the guest sends. (A guest's usual disk, ubd, has one, through the host's page cache.)

Read-only, the file system is the one that the other servers have, mounted on the host as well, and the loop device has the
queue of such a disk. Writable, it is the guest's alone, and so is that queue, since what throttles write-back must see whose it
is: tags, scheduler and throttling."""

import re
import shutil
from pathlib import Path

from bench.lab.client import Client
from bench.lab.disk import LOCAL, fincore
from bench.lab.host import LabError, end, spawn, tail, wait_for
from bench.lab.loop import DEVICES, SCHEDULED, throttling_usec

PROGRAMS = ("qemu-storage-daemon", "rpc.nfsd", "rpc.mountd", "exportfs")
SERVE = Path(__file__).resolve().parent / "knfsd-serve"
VIRTIO_ID_BLOCK = 2
START_SECONDS = 30
STOP_SECONDS = 60
# By itself it has eight, and a request that waits for one is not seen by the disk.
THREADS = 64
# nfsd closes the files that it keeps open a moment after its last thread has ended.
STOP = """exportfs -ua && rpc.nfsd 0
for try in {1..100}; do
	umount "$1" && exit
	sleep 0.1
done
exit 1"""


def what_is_missing(settings):
    """Why it cannot serve a disk with these settings, or None."""
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"knfsd: {program} is not installed (bench/setup --knfsd installs it)"
    if settings.backend != LOCAL:
        return f"knfsd: --backend {settings.backend}: must be {LOCAL}"
    # The guest mounts what the host has mounted: it knows of ext4 that this is safe.
    if settings.filesystem not in ("ext4", "ext4-fast-commit"):
        return f"knfsd: --filesystem {settings.filesystem}: must be ext4 or ext4-fast-commit"
    return None


def check(settings):
    missing = what_is_missing(settings)
    if missing:
        raise LabError(missing)


def seconds_of_dd(said):
    """Of its last line: the lab looks only now and then whether a job has ended."""
    return float(re.search(r"copied, ([0-9.]+) s", said)[1])


class Knfsd:
    def __init__(self, disk, network, index, directory, memory_mib):
        """index: of the guest in the network."""
        self.address = network.guest_address(index)
        self.disk = disk
        self.directory = Path(directory)
        self.guest = Client(self.directory.name, network, index, self.directory, memory_mib)
        self.socket = self.directory.with_suffix(".disk")
        self.log = self.directory.with_suffix(".log")
        self.storage = None
        self._is_writable = False

    @property
    def pid(self):
        """Of the guest: its processor time is most of all User-Mode Linux's."""
        return self.guest.process.pid

    def start(self, read_ahead_kib, is_writable=False):
        check(self.disk.settings)
        self.disk.writable(is_writable)
        self._is_writable = is_writable
        if is_writable:
            self.disk.lend()
        writable, read_only = ("on", "off") if is_writable else ("off", "on")
        with open(self.log, "wb") as log:
            self.storage = spawn(
                "qemu-storage-daemon", "--blockdev",
                f"driver=host_device,node-name=disk,filename={self.disk.loop},read-only={read_only},cache.direct=on,aio=io_uring",
                "--export", f"type=vhost-user-blk,id=export,node-name=disk,writable={writable},addr.type=unix,addr.path={self.socket}",
                stdout=log, stderr=log)
        wait_for(lambda: self.socket.exists() or self.storage.poll() is not None, START_SECONDS, "qemu-storage-daemon")
        if self.storage.poll() is not None:
            raise LabError(f"qemu-storage-daemon ended at once: {tail(self.log)}")
        self.guest.boot([], f"virtio_uml.device={self.socket}:{VIRTIO_ID_BLOCK}")
        self.guest.wait_ready()
        self.guest.run("serve", SERVE, self.disk.mount, read_ahead_kib, DEVICES[self.disk.device].rotational, THREADS,
                       *(self._queue() if is_writable else ())).wait(START_SECONDS)

    def _queue(self):
        """What the guest's is to have: tags, scheduler, requests, throttling."""
        kind, scheduler = DEVICES[self.disk.device], self.disk.settings.scheduler_name
        return (kind.tags, scheduler, kind.tags if scheduler == "none" else SCHEDULED, throttling_usec(self.disk.device, scheduler))

    def close(self):
        try:
            if self._is_writable and self.guest.process and self.guest.process.poll() is None:
                self.guest.run("stop", "bash", "-c", STOP, "bash", self.disk.mount).wait(STOP_SECONDS)
        finally:
            self.guest.stop()
            end(self.storage)
            self.storage = None
            self.socket.unlink(missing_ok=True)
            if self._is_writable:
                self.disk.take_back()
                self._is_writable = False

    def evicted_bytes(self):
        """As Server's; what the guest's kernel does, the host's cannot disturb."""
        return 0

    def cached_bytes(self, names):
        """What the guest's page cache has of these files."""
        words = fincore(self.disk.mount / name for name in names)
        return sum(map(int, self.guest.run("fincore", *words).wait(START_SECONDS).split()))

    def read(self, name, path, mib, *options):
        """The beginning of a file or device, by dd in the guest; name: of the job, new. How many seconds it took."""
        job = self.guest.run(name, "dd", f"if={path}", "of=/dev/null", "bs=1M", f"count={mib}", *options)
        job.wait(START_SECONDS)
        return seconds_of_dd(job.errors())
