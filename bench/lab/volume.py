# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the distributed file systems of the lab have in common: processes in the network namespace of the server, and a FUSE
mount, by which the host makes and removes files. An export has the same path in the volume as in the server's configuration: FSAL
CEPH knows no other."""

from pathlib import Path

from bench.lab.host import LabError, end, is_mounted, run, spawn, tail, wait_for

START_SECONDS = 60


class Volume:
    fsal_memory_bytes = 0  # that its FSAL takes for itself
    blocks = {}  # further blocks of Ganesha's configuration, as bench/lab/ganesha.py has them

    def __init__(self, netns, address, directory):
        """address: in the network namespace; directory: for logs and configuration, made anew."""
        self.netns, self.address = netns, address
        self.directory = Path(directory)
        self.mounted = self.directory / "volume"
        self.processes = []  # the last one started ends first

    def enter_net(self):
        return ["nsenter", f"--net=/run/netns/{self.netns}"]

    def spawn(self, name, *command):
        """Its output goes to NAME.out."""
        with open(self.directory / f"{name}.out", "ab") as out:
            self.processes.append(spawn(*command, stdout=out, stderr=out))
        return self.processes[-1]

    def wait_for(self, process, condition, name):
        wait_for(lambda: process.poll() is not None or condition(), START_SECONDS, name)
        if process.poll() is not None:
            raise LabError(f"{name} ended at once: {tail(self.directory / f'{name}.out')}")

    def mount(self, *command):
        """command: of a FUSE daemon that stays in the foreground, but for where."""
        self.mounted.mkdir(exist_ok=True)
        self.wait_for(self.spawn("mount", *self.enter_net(), *command, self.mounted), lambda: is_mounted(self.mounted), "mount")

    def forget_server(self):
        """A Ganesha has ended, and is not to come back: what it holds of the volume is free."""

    def folder(self, path):
        """Where the host finds the files of an export of this path; made, if it is not there."""
        folder = self.mounted / Path(path).relative_to("/")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def stop(self):
        """The FUSE daemon before its mount: with a server gone that holds leases, umount would wait for it."""
        while self.processes:
            end(self.processes.pop())
        if is_mounted(self.mounted):
            run("umount", "-l", self.mounted, check=False)
