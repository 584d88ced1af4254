# SPDX-License-Identifier: LGPL-3.0-or-later
"""A GlusterFS volume for Ganesha's FSAL GLUSTER: a storage node in the network namespace of the server.

	ganesha.nfsd (libgfapi), glusterfs (a FUSE mount for the host) -- TCP --+-- glusterfsd --> brick-1, a folder
	                                                                        `-- glusterfsd --> brick-2, another
	glusterd says where the bricks are

glusterd is process 1 of a process namespace: what it starts ends with it. Its mount namespace has an empty /run and
/var/lib/glusterd, and no resolver, for which each command would wait. Bricks need a file system with trusted extended
attributes."""

import shutil
from pathlib import Path

from bench.lab.cgroup import MemoryCgroup
from bench.lab.disk import fincore
from bench.lab.ganesha import packaged_plugin
from bench.lab.host import run
from bench.lab.volume import START_SECONDS, Volume

NAME = "lab"  # of the volume
BRICKS = ("brick-1", "brick-2")
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
    return None if packaged_plugin("GLUSTER") else "FSAL GLUSTER is not installed (bench/setup --gluster installs it)"


class Gluster(Volume):
    on_file_system = True

    def __init__(self, netns, address, directory, memory_limit_bytes=None, replicas=1):
        """replicas: of each file, 1 or as many as there are bricks."""
        super().__init__(netns, address, directory)
        self.memory_limit_bytes = memory_limit_bytes
        self.replicas = replicas
        self.bricks = []
        self._cgroup = None
        self._node = None  # unshare; glusterd is its child

    def fsal_of(self, path):
        """What stands in FSAL { Name = ...; } of an export."""
        return f'GLUSTER; Hostname = "{self.address}"; Volume = "{NAME}"; Volpath = "{path}"; Glfs_Log = "{self.directory}/gfapi.log"'

    def start(self, folder):
        """In it, the bricks are made; the volume is empty, and mounted."""
        self.directory.mkdir(exist_ok=True)
        self.bricks = [Path(folder) / name for name in BRICKS]
        for brick in self.bricks:
            brick.mkdir()
        if self.memory_limit_bytes:
            self._cgroup = MemoryCgroup(f"{self.netns}-gluster", self.memory_limit_bytes)
        self._node = self.spawn(
            "glusterd", *(self._cgroup.enter() if self._cgroup else ()), *self.enter_net(), "unshare", "--mount", "--pid", "--fork",
            "--kill-child", "--mount-proc", "bash", "-c", MOUNTS, "bash", self.directory)
        self.wait_for(self._node, self._is_ready, "glusterd")
        kind = ("replica", self.replicas) if self.replicas > 1 else ()
        # force: two bricks of a node, and folders of a file system that is in use.
        self.command("volume", "create", NAME, *kind, *(f"{self.address}:{brick}" for brick in self.bricks), "force")
        self.command("volume", "start", NAME)
        # The kernel caches nothing: the server changes the files as well.
        self.mount("glusterfs", "--no-daemon", f"--volfile-server={self.address}", f"--volfile-id={NAME}", "--direct-io-mode=enable",
                   "--attribute-timeout=0", "--entry-timeout=0", f"--log-file={self.directory}/mount.out")

    def command(self, *words):
        """What the gluster command says of the node."""
        return run("nsenter", f"--target={self._glusterd()}", "--mount", "--net", "--pid", "gluster", "--mode=script", *words,
                   timeout=START_SECONDS)

    def cached_bytes(self, path, names):
        """What the page cache has of these files of an export."""
        places = [brick / Path(path).relative_to("/") / name for brick in self.bricks for name in names]
        files = [place for place in places if place.exists()]
        return sum(map(int, run(*fincore(files)).split())) if files else 0

    def stop(self):
        if self._node and (glusterd := self._glusterd()):
            run("kill", glusterd, check=False)  # unshare passes no signal on
        self._node = None
        super().stop()
        if self._cgroup:
            self._cgroup.remove()
            self._cgroup = None

    def _glusterd(self):
        """Its process id here; None: it does not run."""
        children = Path(f"/proc/{self._node.pid}/task/{self._node.pid}/children")
        return next(iter(children.read_text(encoding="ascii").split()), None) if children.exists() else None

    def _is_ready(self):
        return (glusterd := self._glusterd()) and Path(f"/proc/{glusterd}/root/run/glusterd.socket").exists()
