# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the integration tests share: a network namespace with a file system to export, and how a test ends.

A test is a program: exit status 0 passed, 1 failed (the last line of stderr says what), 77 skipped (with
its reason). Environment: CANFS_BUILD, the build directory (default build/dev).
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from bench.lab.ganesha import Ganesha, GaneshaError  # noqa: E402

BUILD = pathlib.Path(os.environ.get("CANFS_BUILD", ROOT / "build" / "dev"))
ADDRESS = "10.98.0.1"  # of the server, in a namespace of its own
SPACE_MIB = 600


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def check(condition, message):
    if not condition:
        print(f"failed: {message}", file=sys.stderr)
        sys.exit(1)


def run(*command, status=0, **more):
    """stdout of a command that must end with this exit status."""
    words = [str(word) for word in command]
    done = subprocess.run(words, text=True, capture_output=True, **more)
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode}, not {status}: "
                           f"{done.stderr.strip()}")
    return done.stdout


def eventually(probe, what, timeout_sec=20):
    """The first true answer of probe(); the test fails if there is none in time."""
    deadline = time.monotonic() + timeout_sec
    while not (answer := probe()):
        check(time.monotonic() < deadline, f"{what}: not within {timeout_sec} s")
        time.sleep(0.05)
    return answer


def canfsctl_server(socket, *words):
    """The reply of a server's control socket to canfsctl server WORDS."""
    command = [str(BUILD / "canfsctl" / "canfsctl"), "server", *words, "--json", f"--socket={socket}"]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode not in (0, 3):  # 3: it publishes no prices
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def require(*programs):
    if os.geteuid() != 0:
        skip("needs root")
    for program in ("ganesha.nfsd", "rpcbind", "ip", "nsenter") + programs:
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    if not (BUILD / "ganesha-fsal" / "libfsalcanfs.so").exists():
        skip(f"{BUILD}/ganesha-fsal/libfsalcanfs.so is not built")


class Place:
    """Where a test runs: self.disk is a fresh ext4 on a loop device; in_net() runs in the namespace."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.netns = f"fsaltest{os.getpid()}"
        self.disk = self.directory / "disk"

    def in_net(self, *command, **more):
        return run("ip", "netns", "exec", self.netns, *command, **more)

    def server(self, exports=None, **more):
        """exports: subdirectory of the disk to stack, default {"canfs": "CANFS", "vfs": "VFS"}."""
        exports = exports or {"canfs": "CANFS", "vfs": "VFS"}
        for name in exports:
            (self.disk / name).mkdir(exist_ok=True)
            (self.disk / name).chmod(0o777)
        return Ganesha([(str(self.disk / name), stack) for name, stack in exports.items()],
                       self.netns, self.directory / "ganesha", build=BUILD, **more)

    @contextlib.contextmanager
    def own_disk(self, name, mib):
        """Makes the directory of an export on a file system of its own. Call it before the server starts."""
        image, path = self.directory / f"{name}.image", self.disk / name
        with open(image, "wb") as file:
            file.truncate(mib << 20)
        run("mkfs.ext4", "-q", "-m", "0", image)
        path.mkdir()
        run("mount", "-o", "loop", image, path)
        try:
            yield path
        finally:
            run("umount", path)
            path.rmdir()

    def probe(self, function, name, address=ADDRESS, source=None):
        """nfs_probe.function of an export, asked for in the namespace, from an address: (Space, Tag or None)."""
        program = (f"import nfs_probe as p; p.SOURCE = {source!r}; s = p.{function}('{address}', '{self.disk / name}'); "
                   "t = p.read_tag(s); print((tuple(s), tuple(t) if t else None))")
        import nfs_probe  # here, since only tests that probe have it in their path
        space, tag = eval(self.in_net(sys.executable, "-c", program, cwd=ROOT / "tests/integration"))
        return nfs_probe.Space(*space), nfs_probe.Tag(*tag) if tag else None


def control(path, command, **members):
    """The answer of the control socket at path."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(json.dumps({"command": command, **members}).encode() + b"\n")
        reply = json.loads(connection.makefile("rb").readline())
    check(reply["ok"], f"{command} {members}: {reply}")
    return reply


def ask_anyway(path, *commands):
    """Of a control socket that may not answer."""
    for command in commands:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(str(path))
            connection.sendall(f'{{"command": "{command}"}}\n'.encode())
            connection.recv(1 << 16)


class Load:
    """nfs_load on an export of the place (nfs_load.c), one file for each name; to be used as a context."""

    program = BUILD / "tests" / "integration" / "nfs_load"

    def __init__(self, here, export, version, name, *more):
        self.said = here.directory / f"load-{export}-{version}-{name}"
        self.command = ["nsenter", f"--net=/run/netns/{here.netns}", self.program,
                        f"nfs://{ADDRESS}{here.disk}/{export}/.", str(version), f"/load-{version}-{name}", *more]

    def __enter__(self):
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=said,
                                            stderr=subprocess.STDOUT, start_new_session=True)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def operations(self, when=""):
        """So far; the test fails if the load has met an error."""
        lines = self.said.read_text().split("\n")[:-1]
        check(self.process.poll() is None, f"{self.said.name} has ended {when}: {lines[-1:]}")
        return int(next((line for line in reversed(lines) if line.isdigit()), "0"))  # libnfs may print, too

    def goes_on(self, when=""):
        before = self.operations(when)
        eventually(lambda: self.operations(when) > before, f"{self.said.name} goes on {when}")

    def finish(self):
        """All of its data is read once more, and must be right."""
        self.process.terminate()
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            status = "none: it hangs"
        check(status == 0, f"{self.said.name}: status {status}: {self.said.read_text()[-300:]}")


@contextlib.contextmanager
def place():
    # A test that takes too long is told so with SIGTERM: nothing may be left behind then, either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as cleanup:
        directory = tempfile.mkdtemp(prefix="canfs-test-")
        cleanup.callback(shutil.rmtree, directory, ignore_errors=True)
        here = Place(directory)
        run("ip", "netns", "add", here.netns)
        cleanup.callback(run, "ip", "netns", "del", here.netns)
        for command in ("link set lo up", "link add uplink type bridge", "link set uplink up",
                        f"addr add {ADDRESS}/24 dev uplink"):
            run("ip", "-n", here.netns, *command.split())
        image = here.directory / "image"
        with open(image, "wb") as file:
            file.truncate(SPACE_MIB << 20)
        run("mkfs.ext4", "-q", "-m", "1", image)
        here.disk.mkdir()
        mounted = subprocess.run(["mount", "-o", "loop", str(image), str(here.disk)],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            skip(f"no loop mount here: {mounted.stderr.strip()}")
        cleanup.callback(run, "umount", here.disk)
        yield here
