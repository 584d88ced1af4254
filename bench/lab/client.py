# SPDX-License-Identifier: LGPL-3.0-or-later
"""A real Linux NFS client: a User-Mode Linux guest on the host's own root file system.

The host's build tree is visible in the guest under the same path, so that our programs run there
as they are. The lab and the guest talk through a directory (see guest-init)."""

import json
import os
import shlex
import time
from pathlib import Path

from bench.lab.host import LabError, end, spawn, tail, wait_for
from bench.lab.net import PREFIX

MODULES = "usr/lib/uml/modules"
INIT = Path(__file__).resolve().parent / "guest-init"
BOOT_SECONDS = 40
HALT_SECONDS = 10
MOUNT_OPTIONS = {
    "3": "vers=3,nolock,tcp,port=2049,mountport=20048,mountproto=tcp",
    "4.0": "vers=4.0,tcp,port=2049",
    "4.1": "vers=4.1,tcp,port=2049",
    "4.2": "vers=4.2,tcp,port=2049",
}


class Job:
    """A command that runs in a guest."""

    def __init__(self, client, name):
        self.client = client
        self.name = name

    def _file(self, suffix):
        return self.client.directory / f"{self.name}.{suffix}"

    def is_done(self):
        return self._file("rc").exists()

    def signal(self, name):
        """name: TERM, KILL, ..."""
        new = self._file("signal.new")
        new.write_text(name, encoding="ascii")
        new.rename(self._file("signal"))

    def wait(self, seconds):
        """Its standard output; LabError if it fails, takes longer, or the guest dies."""
        deadline = time.monotonic() + seconds
        while not self.is_done():
            self.client.check_alive()
            if time.monotonic() > deadline:
                raise LabError(f"{self.client.name}: {self.name}: still running after {seconds} s")
            time.sleep(0.05)
        code = self._file("rc").read_text(encoding="ascii").strip()
        if code != "0":
            raise LabError(f"{self.client.name}: {self.name}: exit code {code}: "
                           f"{tail(self._file('err'))}")
        return self.output()

    def result(self, seconds):
        """What it printed, as JSON."""
        return json.loads(self.wait(seconds))

    def output(self):
        return self._file("out").read_text(encoding="utf-8", errors="replace")

    def output_begun(self):
        file = self._file("out")  # the guest makes it
        return file.exists() and file.stat().st_size > 0

    def errors(self):
        """What it has said on standard error so far."""
        file = self._file("err")  # the guest makes it
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def kernel(root):
    """The command that runs a kernel, and where its modules are. root, if not empty, is a directory
    into which tests/kernels unpacked one, with the C library that it needs."""
    if not root:
        return ["linux.uml"], f"/{MODULES}"
    root = Path(root).resolve()
    return ["env", f"--chdir={root}/usr", f"LD_LIBRARY_PATH={root}/usr/lib/x86_64-linux-gnu",
            f"{root}/usr/bin/linux.uml"], root / MODULES


class Client:
    preload = None  # of all guests' kernels: bench/uml/xstate.c; the lab knows where it is built

    def __init__(self, name, network, index, directory, memory_mib):
        self.name = name
        self.network = network
        self.index = index
        self.directory = Path(directory)
        self.memory_mib = memory_mib
        self.process = None
        self.console = self.directory / "console"

    def boot(self, mounts, *words):
        """mounts: [(source, target, options)]; words: more of the kernel's command line. Returns at once;
        wait_ready() waits."""
        self.directory.mkdir(parents=True)
        lines = "\n".join(" ".join(mount) for mount in mounts)
        command, modules = kernel(os.environ.get("CANFS_KERNEL"))
        address = f"{self.network.guest_address(self.index)}/{PREFIX}"
        (self.directory / "config").write_text(
            f"ADDRESS={address}\nMODULES={modules}\nMOUNTS={shlex.quote(lines)}\n"
            f"DELAY_MS={self.network.delay_ms}\n",
            encoding="ascii")
        with open(self.console, "wb") as console:
            self.process = spawn(
                *self.network.enter(), *command, f"mem={self.memory_mib}M", "rootfstype=hostfs",
                "rootflags=/", "rw", f"init={INIT}", "con=null", "con0=null,fd:1", "quiet",
                f"vec0:transport=tap,ifname={self.network.tap(self.index)},gro=1",
                f"uml_dir={self.directory}", f"umid={self.name}", f"CANFS_DIR={self.directory}", *words,
                stdout=console, stderr=console,
                env={**os.environ, "TMPDIR": "/dev/shm", **({"LD_PRELOAD": str(self.preload)} if self.preload else {})})

    def wait_ready(self):
        def ready():
            self.check_alive()
            return (self.directory / "ready").exists()
        wait_for(ready, BOOT_SECONDS, f"{self.name}: boot and mount")

    def check_alive(self):
        if self.process.poll() is not None:
            raise LabError(f"guest {self.name} died; the end of its console:\n"
                           f"{tail(self.console)}")

    def prepare(self, name, *command):
        """Lay a job out; nothing runs before launch(). Names are used once per guest."""
        text = "exec " + shlex.join(str(word) for word in command) + "\n"
        (self.directory / f"{name}.job.new").write_text(text, encoding="utf-8")
        return Job(self, name)

    def run(self, name, *command):
        job = self.prepare(name, *command)
        launch([job])
        return job

    def stop(self, is_orderly=True):
        """Not orderly: as if its power were cut."""
        if self.process is None:
            return
        if is_orderly and self.process.poll() is None:
            (self.directory / "halt").touch()
            try:
                wait_for(lambda: self.process.poll() is not None, HALT_SECONDS, "halt")
            except LabError:
                pass
        end(self.process, 0)
        self.process = None


def launch(jobs):
    """Start prepared jobs in their guests at one instant (within a guest's poll of 50 ms)."""
    for job in jobs:
        path = job.client.directory / f"{job.name}.job"
        path.with_suffix(".job.new").rename(path)
