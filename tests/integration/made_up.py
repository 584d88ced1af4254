# SPDX-License-Identifier: LGPL-3.0-or-later
"""The real agent with a kernel that is made up: files in place of /proc and /sys, in a mount namespace of its own."""

import contextlib
import json
import socket
import subprocess

from harness import BUILD, check, eventually

AGENT, CANFSCTL = BUILD / "client-agent" / "canfs-agent", BUILD / "canfsctl" / "canfsctl"
MOUNT = "/made/up"
MIB = 1 << 20

IN_PLACE = 'mount --make-rprivate / && mount --bind "$0/proc" /proc && mount --bind "$0/sys" /sys && exec "$@"'

MOUNTINFO = ("36 25 0:41 / {mount} rw shared:9 - nfs 127.0.0.1:/export "
             "rw,vers=3,proto=tcp,port={port},mountport={port},sec=sys,addr=127.0.0.1\n")
MOUNTSTATS = """device 127.0.0.1:/export mounted on {mount} with fstype nfs statvers=1.1
	age:	100
	bytes:	0 {written} 0 0 0 0 0 0
	per-op statistics
	        READ: 0 0 0 0 0 0 0 0 0
	       WRITE: {writes} {writes} 0 0 0 0 {rtt} {rtt} 0
	      COMMIT: 0 0 0 0 0 0 0 0 0

"""
MEMINFO = """MemTotal:        1024000 kB
MemFree:          900000 kB
MemAvailable:     900000 kB
Active(file):            50000 kB
Dirty:             {dirty} kB
Writeback:             0 kB
"""
KNOBS = {"proc/sys/vm/dirty_bytes": 0, "proc/sys/vm/dirty_ratio": 20,
         "proc/sys/vm/dirty_background_bytes": 0, "proc/sys/vm/dirty_background_ratio": 10,
         "sys/class/bdi/0:41/read_ahead_kb": 128, "sys/class/bdi/0:41/min_ratio": 0,
         "sys/class/bdi/0:41/max_ratio": 100}


class Kernel:
    """Files as the agent reads and turns them."""

    def __init__(self, directory, port):
        self.directory = directory
        for name, value in KNOBS.items():
            self.write(name, f"{value}\n")
        self.write("proc/sys/kernel/random/boot_id", "made-up\n")
        self.write("proc/self/mountinfo", MOUNTINFO.format(mount=MOUNT, port=port))
        self.writes(0, 0)

    def write(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(path.name + ".new")  # never seen half written
        fresh.write_text(text, encoding="ascii")
        fresh.rename(path)

    def writes(self, held_mib, rpcs):
        """An application has written so much that is not sent; the server has seen so many WRITEs, of 4 ms."""
        self.write("proc/self/mountstats", MOUNTSTATS.format(
            mount=MOUNT, written=held_mib * MIB, writes=rpcs, rtt=4 * rpcs))
        self.write("proc/meminfo", MEMINFO.format(dirty=held_mib * 1024))

    def receives(self, total_bytes):
        """Of the interface to the server, since boot."""
        self.write("sys/class/net/lo/statistics/tx_bytes", "0\n")
        self.write("sys/class/net/lo/statistics/rx_bytes", f"{total_bytes}\n")

    def knob(self, name):
        path, = [path for path in KNOBS if path.endswith(f"/{name}")]
        return int((self.directory / path).read_text())

    def check_restored(self):
        """But for *_bytes: in the kernel it is the ratio, written back, that zeroes them."""
        for path, original in KNOBS.items():
            name = path.split("/")[-1]
            check(name.endswith("_bytes") or self.knob(name) == original, f"{name} is left at {self.knob(name)}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Agent:
    def __init__(self, directory, kernel, **options):
        self.kernel = kernel
        self.socket = directory / "run" / "agent.sock"
        self.config = directory / "agent.conf"
        self.configure(mode="enforce", state_dir=directory / "run", **options)

    def configure(self, **options):
        self.options = options
        self.config.write_text("[agent]\n" + "".join(f"{n} = {v}\n" for n, v in options.items()))

    @contextlib.contextmanager
    def running(self):
        command = ["unshare", "--mount", "sh", "-c", IN_PLACE, self.kernel.directory, AGENT, "--config",
                   self.config]
        with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True) as process:
            self.process = process
            try:
                eventually(self.socket.exists, "the agent's socket")
                yield self
            finally:
                process.terminate()
                self.log = process.stderr.read()
                status = process.wait(60)
        check(status == 0, f"the agent's end: {status}:\n{self.log}")
        check(not self.socket.exists(), "the agent leaves its socket behind")

    def ctl(self, *words, status=0):
        done = subprocess.run([CANFSCTL, *words, f"--socket={self.socket}"], text=True, capture_output=True,
                              timeout=60, check=False)
        check(done.returncode == status, f"canfsctl {words}: {done}")
        return done.stdout if status == 0 else done.stderr

    def ask(self, command, *words):
        return json.loads(self.ctl(command, "--json", *words))

    def mount(self):
        mounts = self.ask("status")["mounts"]
        return mounts[0] if mounts else {}
