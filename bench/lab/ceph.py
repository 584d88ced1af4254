# SPDX-License-Identifier: LGPL-3.0-or-later
"""CephFS for Ganesha's FSAL CEPH: one monitor, manager, OSD and metadata server in the network namespace of the server.

	ganesha.nfsd (libcephfs), ceph-fuse (a mount for the host) -- TCP --> ceph-mds, ceph-osd --> BlueStore on a block device

Its processes are given the monitor's map: one that has yet to ask for it may send a command before, and hears "wrong fsid" (EPERM).
They stay in the foreground and end with us. All that they keep but the OSD's data is in their directory. There is no
authentication, and one copy of everything. The OSD caches no data, only metadata: what a client reads comes from the disk."""

import json
import shutil
import uuid

from bench.lab.ganesha import packaged_plugin
from bench.lab.host import LabError, run
from bench.lab.volume import START_SECONDS, Volume

NAME = "lab"  # of the file system
PLACEMENT_GROUPS = 8
TRIES = 5  # of a command
OSD_MEMORY_BYTES = 896 << 20  # the least that it can be given
CONFIGURATION = """[global]
fsid = {fsid}
mon host = {address}
monmap = {directory}/monmap
mon initial members = a
public network = {address}/32
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon data avail crit = 1
osd crush chooseleaf type = 0
osd memory target = {osd_memory_bytes}
bluestore default buffered read = false
mon data = {directory}/mon
mgr data = {directory}/mgr
osd data = {directory}/osd
mds data = {directory}/mds
run dir = {directory}
crash dir = {directory}
log file = {directory}/$name.log
admin socket =
pid file =
fuse disable pagecache = true
[mds]
admin socket = {directory}/mds.asok
"""


def what_is_missing():
    """Why there is none here, or None."""
    for program in ("ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-mds", "ceph-fuse", "monmaptool"):
        if not shutil.which(program):
            return f"{program} is not installed (bench/setup --ceph installs it)"
    return None if packaged_plugin("CEPH") else "FSAL CEPH is not installed (bench/setup --ceph installs it)"


class Ceph(Volume):
    on_file_system = False
    fsal_memory_bytes = 512 << 20  # libcephfs: a cache of 200 MiB, and what is on its way to the OSD

    def __init__(self, netns, address, directory, memory_limit_bytes=None):
        """memory_limit_bytes: is for others, which use the page cache."""
        super().__init__(netns, address, directory)
        self.configuration = self.directory / "ceph.conf"
        self.blocks = {"CEPH": {"Ceph_Conf": f'"{self.configuration}"'}}

    @staticmethod
    def fsal_of(_):
        """What stands in FSAL { Name = ...; } of an export."""
        return "CEPH"

    def start(self, device):
        """All of it is the OSD's; the file system is empty, and mounted."""
        shutil.rmtree(self.directory, ignore_errors=True)
        for name in ("mon", "mgr", "osd", "mds"):
            (self.directory / name).mkdir(parents=True)
        fsid, osd = uuid.uuid4(), uuid.uuid4()
        self.configuration.write_text(CONFIGURATION.format(fsid=fsid, address=self.address, directory=self.directory,
                                                           osd_memory_bytes=OSD_MEMORY_BYTES), encoding="utf-8")
        monmap = self.directory / "monmap"
        run("monmaptool", "--create", "--add", "a", self.address, "--fsid", fsid, monmap)
        self._make("mon", "a")
        self._daemon("mon", "a")
        self._daemon("mgr", "a")
        self.command("osd", "new", osd)
        (self.directory / "osd/block").symlink_to(device)
        self._make("osd", 0, "--osd-uuid", osd, "--osd-objectstore", "bluestore")
        self._daemon("osd", 0)
        self._daemon("mds", "a")
        self.wait_for(self.processes[-2], lambda: "1 up" in self.command("osd", "stat"), "osd")
        for pool in ("metadata", "data"):
            self.command("osd", "pool", "create", pool, PLACEMENT_GROUPS)
        self.command("fs", "new", NAME, "metadata", "data")
        self.wait_for(self.processes[-1], lambda: "up:active" in self.command("mds", "stat"), "mds")
        self.mount("ceph-fuse", f"--conf={self.configuration}", "-f")

    def command(self, *words):
        """What the ceph command says of the cluster. It reads no map of the monitor's, so now and then it is refused (EPERM)."""
        for left in reversed(range(TRIES)):
            try:
                return run(*self.enter_net(), "ceph", f"--conf={self.configuration}", *words, timeout=START_SECONDS)
            except LabError as error:
                if not left or "EPERM" not in str(error):
                    raise

    def forget_server(self):
        """Ganesha leaves its sessions, so that it finds its state when it starts again: for 300 s others wait for what it had open."""
        for session in json.loads(self._mds("session", "ls")):
            if session["client_metadata"].get("root", "/") != "/":  # that of ceph-fuse
                self._mds("session", "evict", f"id={session['id']}")

    def _mds(self, *words):
        return run("ceph", "--admin-daemon", self.directory / "mds.asok", *words)

    @staticmethod
    def cached_bytes(_, __):
        """BlueStore reads past the page cache."""
        return 0

    def _make(self, kind, name, *words):
        run(*self.enter_net(), f"ceph-{kind}", f"--conf={self.configuration}", "--mkfs", "-i", name, *words)

    def _daemon(self, kind, name):
        self.spawn(kind, *self.enter_net(), f"ceph-{kind}", f"--conf={self.configuration}", "-f", "-i", name)
