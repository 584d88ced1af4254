# SPDX-License-Identifier: LGPL-3.0-or-later
"""The lab: a network, a modelled disk, a Ganesha server and real kernel clients, and its end.

	with Lab(build) as lab:
	    lab.disk.write_file("data", megabytes=100)
	    lab.start_server("VFS")
	    a, b = lab.start_clients([Guest("a", 512), Guest("b", 2048)])
	    job = a.run("read", lab.program("canfs-job-read"), "--direct", lab.on_mount("data"))
	    print(job.result(seconds=60))

Whatever happens in the block (an error, Ctrl-C, SIGTERM), everything is gone after it. Names carry
the process id: labs may run side by side (they then share the processor, of course)."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.lab.client import MOUNT_OPTIONS, Client
from bench.lab.backend import make_disk
from bench.lab.disk import DiskSettings
from bench.lab.ganesha import Ganesha
from bench.lab.host import LabError, spawn
from bench.lab.knfsd import Knfsd
from bench.lab.net import FAR_INDEX, SERVER_ADDRESS, Link, Network
from bench.lab.sweep import PREFIX, sweep

DISK_MIB = 32 * 1024
SERVER_MEMORY_BYTES = 512 << 20
GUESTS_MAX = 40
SECOND_SERVER_MBIT = 10000  # its wire is no bottleneck
MOUNT_POINT = "/run/nfs"  # in the guest, where /run is its own


@dataclass
class Guest:
    name: str
    memory_mib: int
    version: str = "3"
    options: str = ""  # of the mount, besides the lab's own: "rsize=4096,wsize=4096"
    of_second: bool = False  # it mounts the export of start_second_server()


def what_cannot_be_installed():
    """Why no package would make the lab run here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    for device in ("/dev/net/tun", "/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(device):
            return f"{device} is missing"
    return None


def what_is_missing():
    """Why the lab cannot run here, or None."""
    reason = what_cannot_be_installed()
    if reason:
        return reason
    for program in ("linux.uml", "ganesha.nfsd", "rpcbind", "losetup", "mkfs.ext4", "ip", "nsenter"):
        if not shutil.which(program):
            return f"{program} is not installed (bench/setup --lab release installs and builds)"
    return None


class Lab:
    def __init__(self, build, disk_mib=DISK_MIB, memory_bytes=SERVER_MEMORY_BYTES, disk=DiskSettings()):
        self.build = Path(build).resolve()
        self.name = f"{PREFIX}{os.getpid()}"
        self.disk_mib = disk_mib
        self.memory_bytes = memory_bytes
        self.disk_settings = disk
        self.clients = []
        self.server = self.second_server = None
        self.server_address = SERVER_ADDRESS
        self._generation = 0
        self._undo = contextlib.ExitStack()

    def program(self, name):
        """A program of ours in the build tree."""
        for folder in ("bench", "canfsctl", "client-agent", "priced"):
            if (self.build / folder / name).exists():
                return self.build / folder / name
        raise LabError(f"{name} is not built in {self.build}")

    def __enter__(self):
        missing = what_is_missing()
        if missing:
            raise LabError(missing)
        self._old_term = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        sweep()
        try:
            self._build_up()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def _build_up(self):
        Client.preload = self.program("libcanfs-uml-xstate.so")
        self.directory = Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir="/tmp"))
        self._undo.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.network = Network(self.name, GUESTS_MAX)
        self._undo.callback(self.network.stop)
        self.network.start()
        log = self._undo.enter_context(open(self.directory / "disk.log", "wb"))
        self.disk = make_disk(self.program("canfs-disk"), self.directory, self.disk_mib, log, self.disk_settings,
                              self.network, self.memory_bytes)
        self._undo.callback(self.disk.stop)
        self.disk.start()
        self._undo.callback(self.stop_server)
        self._undo.callback(self.stop_clients)
        self._undo.callback(self.disk.let_go)

    def __exit__(self, *exception):
        """Last in, first out; not to be interrupted half way."""
        ignored = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._undo.close()
        finally:
            signal.signal(signal.SIGINT, ignored[signal.SIGINT])
            signal.signal(signal.SIGTERM, self._old_term)
        return False

    def start_server(self, stack="VFS", options=None, classes=(), nfsv4=None, export_items=None, export_options=None,
                     wrapper=()):
        """stack: "VFS" (stock) or "CANFS" (ours over VFS); where the disk has a volume, VFS stands for its FSAL. options, classes: of the
        CANFS { } block; nfsv4, export_items: more of those of NFSV4 { } and EXPORT { }; export_options: of the FSAL { Name = CANFS; }
        block; wrapper: a command to put before ganesha.nfsd."""
        self.disk.writable(True)
        self.server = self._ganesha(stack, self.name, "ganesha", options=options, classes=classes,
                                    blocks=self.disk.blocks | {"NFSV4": nfsv4 or {}}, export_items=export_items,
                                    export_options={str(self.disk.mount): export_options or {}}, wrapper=wrapper)
        self.server.start()

    @property
    def second_address(self):
        return self.network.guest_address(FAR_INDEX)

    def start_second_server(self, stack="VFS", options=None):
        """As start_server(), of the same volume, at an address of its own."""
        link = Link(self.network, SECOND_SERVER_MBIT)
        link.start()
        self._second_link = link
        self.second_server = self._ganesha(stack, link.name, "ganesha-2", options=options, blocks=self.disk.blocks)
        self.second_server.start()

    def _ganesha(self, stack, netns, directory, **more):
        fsal = self.disk.fsal
        return Ganesha([(str(self.disk.mount), f"CANFS {fsal}" if stack == "CANFS" else fsal)], netns, self.directory / directory,
                       build=self.build if stack == "CANFS" else None,
                       memory_limit_bytes=self.memory_bytes + self.disk.fsal_memory_bytes, **more)

    def start_knfsd(self, read_ahead_kib, is_writable=False):
        """The kernel's own server, NFSv3, in a guest with as much memory; what it opens is read ahead so."""
        self._generation += 1
        self.server = Knfsd(self.disk, self.network, GUESTS_MAX - 1, self.directory / f"knfsd-{self._generation}",
                            self.memory_bytes >> 20)
        self.server_address = self.server.address
        self.server.start(read_ahead_kib, is_writable)

    def stop_server(self):
        if self.second_server:
            self.second_server.close()
            self._second_link.stop()
        self.second_server = None
        if self.server:
            self.server.close()
            self.disk.forget_server()
        self.server = None
        self.server_address = SERVER_ADDRESS

    def spawn_beside_server(self, *command, **options):
        """A process of the host, in the lab's network."""
        return spawn(*self.network.enter(), *command, **options)

    def start_clients(self, guests, network=None):
        """Boot the guests side by side, each with the export mounted. network: a Link with taps, for guests
        behind that."""
        self._generation += 1
        for index, guest in enumerate(guests):
            client = Client(guest.name, network or self.network, index,
                            self.directory / f"{guest.name}-{self._generation}", guest.memory_mib)
            self.clients.append(client)
            options = ",".join(filter(None, (MOUNT_OPTIONS[guest.version], guest.options)))
            client.boot([(self.source(guest.of_second), MOUNT_POINT, options)])
        for client in self.clients:
            client.wait_ready()
        return list(self.clients)

    def stop_clients(self, is_orderly=True):
        for client in reversed(self.clients):
            client.stop(is_orderly)
        self.clients.clear()

    def end_trial(self):
        """Clients and server go; with the disk's model off, so that what is still dirty takes no time."""
        self.disk.control("mode=free")
        self.stop_clients()
        self.stop_server()

    def power_cut(self, seed):
        """Of the server and its disk at one instant; the clients go as well, since nobody answers them any more. Neither is
        started again, the disk is: with the model off."""
        os.kill(self.server.pid, signal.SIGSTOP)  # it answers nothing that it hears after the cut
        self.disk.power_cut(seed)
        self.server.kill()
        self.stop_clients(is_orderly=False)
        self.stop_server()
        self.disk.power_on()

    def source(self, of_second=False):
        """What a client mounts."""
        address = self.second_address if of_second else self.server_address
        return f"{address}:{self.disk.mount}"

    @staticmethod
    def on_mount(name):
        """The path of a file of the export, as the guests see it."""
        return f"{MOUNT_POINT}/{name}"
