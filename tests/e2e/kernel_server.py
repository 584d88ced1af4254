# SPDX-License-Identifier: LGPL-3.0-or-later
"""The kernel's NFS server in a guest, with a disk of its own, and canfs-priced beside it."""

import json
import shutil
import subprocess
import time

from harness import TIMEOUT_SECONDS, Shell, check
from bench.lab.client import Client
from bench.lab.lab import GUESTS_MAX

PROGRAMS = ("rpc.nfsd", "rpc.mountd", "exportfs")
MEMORY_MIB = 384
EXPORT = "/run/export"
SOCKET = "/run/canfs/priced.sock"
# The root file system is the host's: what would be written there is kept in the guest. The client has a name, by which it
# may use the export: mountd finds it, and canfs-priced asks the kernel.
SERVE = r"""
set -eu
modprobe -d /run/lm nfsd
mkdir -p "$1"
mount -t ext4 /dev/ubda "$1"
mount -t tmpfs tmpfs /var/lib/nfs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t nfsd nfsd /proc/fs/nfsd
echo "$2 client.lab" >/run/hosts
mount --bind /run/hosts /etc/hosts
rpcbind -w
exportfs -o rw,no_root_squash,no_subtree_check,fsid=0 "*.lab:$1"
rpc.nfsd 8
rpc.mountd --port 20048
"""


def what_is_missing():
    """Why there can be no kernel server, or None."""
    for program in PROGRAMS:
        if not shutil.which(program):
            return f"{program} is not installed (bench/setup --knfsd installs it)"
    return None


def wait(condition, what):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not in {TIMEOUT_SECONDS} s")
        time.sleep(0.2)


def boot(lab, name, index, memory_mib, mounts=(), *words):
    """A guest beside those of lab.start_clients()."""
    client = Client(name, lab.network, index, lab.directory / name, memory_mib)
    lab.clients.append(client)
    client.boot(mounts, *words)
    client.wait_ready()
    return Shell(client)


def start(lab, client, disk_mib):
    """Its shell; client: the number in the network of the one that may use the export."""
    image = lab.directory / "export.img"
    with open(image, "wb") as file:
        file.truncate(disk_mib << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    server = boot(lab, "server", GUESTS_MAX - 1, MEMORY_MIB, (), f"ubd0={image}")
    server(SERVE, EXPORT, lab.network.guest_address(client))
    return server


def address(server):
    return server.client.network.guest_address(server.client.index)


class Sidecar:
    def __init__(self, lab, server):
        self.server = server
        self.program = lab.program("canfs-priced")
        self.ctl = lab.program("canfsctl")
        self.config = lab.directory / "priced.conf"
        self.config.write_text("[priced]\n", encoding="ascii")
        self.job = None

    def start(self):
        self.job = self.server.job("priced", self.program, "--config", self.config)
        check(self.server.wait(f"[ -S {SOCKET} ]"), f"canfs-priced did not start:\n{self.job.errors()}")

    def ask(self, *words):
        """canfsctl server finds the socket by itself."""
        return self.server('"$@"', self.ctl, "server", *words)

    def exports(self):
        shown = self.server('"$@" || [ $? = 3 ]', self.ctl, "server", "prices", "--json")
        return {export["export"]: export for export in json.loads(shown)["exports"]}

    def wait_exports(self, paths):
        wait(lambda: sorted(self.exports()) == paths, f"prices of {paths}")

    def kill(self):
        self.job.signal("KILL")
        wait(self.job.is_done, "the end of canfs-priced by SIGKILL")
        self.server('rm -f "$1"', SOCKET)
