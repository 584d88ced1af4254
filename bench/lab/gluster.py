# SPDX-License-Identifier: LGPL-3.0-or-later
"""A GlusterFS volume for Ganesha's FSAL GLUSTER: a storage node in the network namespace of the server.

	ganesha.nfsd (libgfapi), glusterfs (a FUSE mount for the host) -- TCP --+-- glusterfsd, brick 1 -- file system of the disk
	                                                                        `-- glusterfsd, brick 2 -- the same, or another
	glusterd says where the bricks are

glusterd is process 1 of a process namespace: what it starts ends with it. Its mount namespace has an empty /run and
/var/lib/glusterd, and no resolver, for which each command would wait. Bricks need a file system with trusted extended attributes, and their folders must not be in use by
another volume."""

import shutil
from pathlib import Path

from bench.lab.cgroup import MemoryCgroup
from bench.lab.disk import fincore
from bench.lab.ganesha import packaged_plugin
from bench.lab.host import LabError, end, is_mounted, run, spawn, tail, wait_for

NAME = "lab"  # of the volume
BRICKS = 2
START_SECONDS = 30
MOUNTS = """
set -e
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib/glusterd
mount --bind "$1" /var/log/glusterfs
mount --bind /dev/null /etc/resolv.conf
exec glusterd --no-daemon
"""


def what_is_missing():
    """Why there is none here, or None."""
    for program in ("glusterd", "gluster", "glusterfs"):
        if not shutil.which(program):
            return f"{program} is not installed (bench/setup --gluster installs it)"
    if not packaged_plugin("GLUSTER"):
        return "FSAL GLUSTER is not installed (bench/setup --gluster installs it)"
    return None


class Gluster:
    def __init__(self, netns, address, folders, directory, replicas=1, memory_limit_bytes=None):
        """folders: in which each brick has one of its own; address: of the node, in the network namespace; replicas: of each
        file, 1 or as many as there are bricks; directory: for logs."""
        self.netns, self.address = netns, address
        self.bricks = [Path(folder) / f"brick-{number}" for number, folder in enumerate(folders, start=1)]
        self.log = Path(directory) / "gluster"
        self.replicas = replicas
        self.memory_limit_bytes = memory_limit_bytes
        self._cgroup = None
        self._node = None   # unshare; glusterd is its child
        self._mounts = {}   # path: process

    @property
    def fsal(self):
        """What stands in FSAL { Name = ...; } of an export."""
        return f'GLUSTER; Hostname = "{self.address}"; Volume = "{NAME}"; Glfs_Log = "{self.log}/gfapi.log"'

    def start(self):
        """The volume is there and empty."""
        self.log.mkdir(exist_ok=True)
        for brick in self.bricks:
            brick.mkdir()
        if self.memory_limit_bytes:
            self._cgroup = MemoryCgroup(f"{self.netns}-gluster", self.memory_limit_bytes)
        with open(self.log / "node.out", "ab") as out:
            self._node = spawn(*(self._cgroup.enter() if self._cgroup else ()), *self._enter_net(), "unshare", "--mount", "--pid",
                               "--fork", "--kill-child", "--mount-proc", "bash", "-c", MOUNTS, "bash", self.log, stdout=out, stderr=out)
        wait_for(lambda: self._has_ended(self._node) or self._is_ready(), START_SECONDS, "glusterd")
        if self._has_ended(self._node):
            raise LabError(f"glusterd ended at once: {tail(self.log / 'node.out')} {tail(self.log / 'glusterd.log')}")
        kind = ("replica", self.replicas) if self.replicas > 1 else ()
        # force: two bricks of a node, and folders of a file system that is in use.
        self.command("volume", "create", NAME, *kind, *(f"{self.address}:{brick}" for brick in self.bricks), "force")
        self.command("volume", "start", NAME)

    def command(self, *words):
        """What the gluster command says of the node."""
        return run("nsenter", f"--target={self._glusterd()}", "--mount", "--net", "--pid", "gluster", "--mode=script", *words,
                   timeout=START_SECONDS)

    def mount(self, path):
        """Here, by FUSE. The kernel caches nothing: others change the files as well."""
        path.mkdir(exist_ok=True)
        with open(self.log / "mount.out", "ab") as out:
            process = self._mounts[path] = spawn(
                *self._enter_net(), "glusterfs", "--no-daemon", f"--volfile-server={self.address}", f"--volfile-id={NAME}",
                "--direct-io-mode=enable", "--attribute-timeout=0", "--entry-timeout=0", f"--log-file={self.log}/mount.log", path,
                stdout=out, stderr=out)
        wait_for(lambda: self._has_ended(process) or is_mounted(path), START_SECONDS, "glusterfs: mount")
        if self._has_ended(process):
            raise LabError(f"glusterfs ended at once: {tail(self.log / 'mount.log')}")

    def cached_bytes(self, names):
        """What the page cache has of these files of the volume."""
        files = [brick / name for brick in self.bricks for name in names if (brick / name).exists()]
        return sum(map(int, run(*fincore(files)).split())) if files else 0

    def stop(self):
        for path, process in self._mounts.items():
            if is_mounted(path):
                run("umount", "-l", path, check=False)
            end(process)
        self._mounts.clear()
        if self._node:
            glusterd = self._glusterd()
            if glusterd:
                run("kill", glusterd, check=False)
            end(self._node)
            self._node = None
        if self._cgroup:
            self._cgroup.remove()
            self._cgroup = None

    def _enter_net(self):
        return ["nsenter", f"--net=/run/netns/{self.netns}"]

    def _glusterd(self):
        """Its process id here; None: it does not run."""
        children = Path(f"/proc/{self._node.pid}/task/{self._node.pid}/children")
        return next(iter(children.read_text(encoding="ascii").split()), None) if children.exists() else None

    def _is_ready(self):
        return (glusterd := self._glusterd()) and Path(f"/proc/{glusterd}/root/run/glusterd.socket").exists()

    @staticmethod
    def _has_ended(process):
        return process.poll() is not None
