# SPDX-License-Identifier: LGPL-3.0-or-later
"""Machines of an administrator, on which packages can be installed and removed: the lab's server and guests, each with a root of its
own (machine-init), and a little of a service manager (systemctl)."""

import os
import subprocess
from pathlib import Path

from harness import BUILD, TIMEOUT_SECONDS, Failed, Shell, Skipped, check
from harness import ROOT as TREE
from bench.lab.client import Client
from bench.lab.ganesha import core_of_release
from bench.lab.host import end, run, spawn, wait_for

HERE = Path(__file__).resolve().parent
INIT = HERE / "machine-init"
ROOT = "/run/machine/root"
ENTER = 'cd "$1" && exec env HOME=/root DEBIAN_FRONTEND=noninteractive bash -c "$2" 2>&1'
READY = "ready"
COMMAND_SECONDS = 300  # that only one which hangs takes
CORE_ITEMS = " ".join(f"{name} = {value};" for name, value in core_of_release().items())  # of NFS_CORE_PARAM { }, on machines like these


def make_packages(lab):
    """Of this tree; the directory that has them."""
    folder = lab.directory / "packages"
    done = subprocess.run([TREE / "tests/make-packages", folder], env={**os.environ, "CANFS_BUILD": str(BUILD)}, text=True,
                          stdout=subprocess.PIPE)
    if done.returncode == 77:
        raise Skipped(done.stdout.strip())
    check(done.returncode == 0, f"make-packages: {done.stdout}")
    return folder


class GuestMachine:
    """A kernel client. It begins without mounts."""

    def __init__(self, lab, name, index, memory_mib, folder):
        self.folder = folder
        client = Client(name, lab.network, index, lab.directory / name, memory_mib)
        lab.clients.append(client)
        client.boot([])
        self.shell = Shell(client)

    def wait_ready(self):
        self.shell.client.wait_ready()
        self.shell('modprobe -d /run/lm overlay && "$@"', INIT)

    def start(self, command):
        return self.shell.job("command", "chroot", ROOT, "bash", "-c", ENTER, "bash", self.folder, command)

    def run(self, command, seconds=COMMAND_SECONDS):
        """What it printed, on either stream."""
        return self.start(f"{command}\ntrue").wait(seconds)


class ServerMachine:
    """The lab's server, as an administrator finds it: an NFS-Ganesha that is installed, and a file system on the lab's disk."""

    def __init__(self, lab, folder):
        self.folder = folder
        self._lab = lab
        self._log = lab.directory / "server.out"
        with open(self._log, "wb") as out:
            # A process namespace: whatever was started there ends with its first process, even what has left its session.
            self._first = spawn(*lab.network.enter(), "unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c",
                                'mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /run && "$1" "$2" && '
                                'echo "$3" && exec sleep infinity', "bash", INIT, lab.disk.mount, READY, stdout=out, stderr=out)

    def wait_ready(self):
        def is_ready():
            said = self._log.read_text()
            if self._first.poll() is not None:
                raise Failed(f"the server does not start: {said}")
            return said.endswith(f"{READY}\n")

        wait_for(is_ready, TIMEOUT_SECONDS, "the server's root")
        [self._pid] = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split()

    def _words(self, command):
        return ["nsenter", "--target", self._pid, "--mount", "--net", "--pid", "chroot", ROOT, "bash", "-c", ENTER, "bash", self.folder,
                command]

    def run(self, command, seconds=COMMAND_SECONDS):
        return run(*self._words(f"{command}\ntrue"), timeout=seconds)

    def stop(self):
        end(self._first)
