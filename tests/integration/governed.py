# SPDX-License-Identifier: LGPL-3.0-or-later
"""canfsctl run beside a server whose prices the test sets (fake_nfs.py): what the tests of it share."""

import contextlib
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import time

import fake_nfs
from fake_nfs import PLAIN, tagged

CANFSCTL = pathlib.Path(os.environ.get("CANFS_BUILD", "build/dev")).resolve() / "canfsctl/canfsctl"
HIGH, LOW = tagged(PLAIN, 217, 128, 3), tagged(PLAIN, 20, 20, 3)
LIMIT_SEC = 60  # what only a hang meets
PAUSES = ("--at-least=0", "--patience=3600")  # until the price falls
RUN_HIDDEN = "CANFS_RUN_HIDDEN"  # in the environment: hide_run() has run
# nohup and background jobs ignore some, which what is started here would inherit
TERMINAL_SIGNALS = signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP
SLEEPER = ("sh", "-c", 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec sleep 1000')


def hide_run():
    """In a mount namespace with a /run of its own: the jobs in here are not to be seen on this host, nor its jobs in here."""
    if os.geteuid() == 0 and not os.environ.get(RUN_HIDDEN):
        os.environ[RUN_HIDDEN] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                              'mount -t tmpfs tmpfs /run && exec "$@"', "sh", sys.executable, *sys.argv])


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def eventually(probe, what):
    deadline = time.monotonic() + LIMIT_SEC
    while not (answer := probe()):
        check(time.monotonic() < deadline, f"{what}: not within {LIMIT_SEC} s")
        time.sleep(0.02)
    return answer


class Server(fake_nfs.Server):
    def arguments(self, *more):
        return [CANFSCTL, "run", "--server=127.0.0.1:/export", f"--rpcbind-port={self.server_address[1]}", *more]

    def costs(self, answer):
        self.answers = [answer]

    def run(self, *words, **more):
        return subprocess.run(self.arguments(*words), text=True, capture_output=True, timeout=LIMIT_SEC, check=False,
                              **more)


def state(pid):
    """R, S, T ... of a process; None: it is gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def group(pid):
    """The directory of its control group of version 2; None: there is none."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        if line.startswith("0::"):
            for mount in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
                path = pathlib.Path(mount + line[3:])
                if (path / "cgroup.procs").exists():
                    return path
    return None


def has_control_group():
    """Can one be made, and frozen?"""
    own = group("self")
    there = own and own / f"canfs-test-{os.getpid()}"
    try:
        there.mkdir()
    except (AttributeError, OSError):
        return False
    can_be_frozen = (there / "cgroup.freeze").exists()
    there.rmdir()
    return can_be_frozen


CONTROL_GROUP = has_control_group()
# Of canfsctl run: in a control group, if one can be had; in none.
HOWS = ((), ("--signals",)) if CONTROL_GROUP else (("--signals",),)


def is_paused(pid):
    try:
        freeze = group(pid) / "cgroup.freeze" if group(pid) else None
        return state(pid) == "T" or bool(freeze) and freeze.exists() and freeze.read_text() == "1\n"
    except OSError:
        return False


@contextlib.contextmanager
def governed(server, *options, command=SLEEPER, **more):
    """canfsctl run and the pid of its command, which is killed at the end. command: gets a file name, for its pid."""
    with tempfile.TemporaryDirectory() as directory:
        said = f"{directory}/pid"
        with subprocess.Popen(server.arguments(*options, "--", *command, said), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **more) as process:
            pid = None
            try:
                pid = int(eventually(lambda: os.path.exists(said) and pathlib.Path(said).read_text(), "its pid"))
                yield process, pid
            finally:
                process.kill()
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def on_terminal(server, *options):
    """canfsctl run that leads the session of a terminal, as of ssh -t or xterm -e: its pid, its command's, the terminal."""
    with tempfile.TemporaryDirectory() as directory:
        said = f"{directory}/pid"
        words = [str(word) for word in server.arguments(*options, "--", *SLEEPER, said)]
        process, terminal = pty.fork()
        if process == 0:
            os.execv(words[0], words)
        terminal = os.fdopen(terminal, "r+b", 0)
        pid = None
        try:
            pid = int(eventually(lambda: os.path.exists(said) and pathlib.Path(said).read_text(), "its pid"))
            yield process, pid, terminal
        finally:
            terminal.close()
            for left in filter(None, (pid, process)):
                with contextlib.suppress(OSError):
                    os.kill(left, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(process, 0)


def end_of(process):
    """Of a child that is not Popen's: its exit status, -N: by signal N."""
    status = eventually(lambda: ended[1:] if (ended := os.waitpid(process, os.WNOHANG))[0] else None, "its end")[0]
    return os.waitstatus_to_exitcode(status)


def run_tests(names):
    """Those among a module's names."""
    hide_run()
    for number in TERMINAL_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    for name, test in list(names.items()):
        if name.startswith("test_"):
            test()
    if not CONTROL_GROUP:
        print("no control group of version 2 here: only --signals has been tried")
        sys.exit(77)
