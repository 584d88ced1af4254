# SPDX-License-Identifier: LGPL-3.0-or-later
"""Running and ending host processes, sysfs files, waiting: what every part of the lab needs."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
TAIL_LINES = 15
ERROR_MAX = 2000
HIDDEN = "CANFS_MOUNTS_HIDDEN"  # in the environment: hide_mounts() has run


class LabError(Exception):
    """The lab could not do what it was asked; the text is for the person at the terminal."""


def hide_mounts():
    """Restarts this program in a mount namespace of its own. Otherwise a process that unshares its namespace meanwhile, such as
    the server of another lab, would keep our file systems mounted."""
    if os.environ.get(HIDDEN) or os.geteuid() != 0:
        return
    os.environ[HIDDEN] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def run(*command, timeout=60, check=True):
    """Run a short command, return its standard output."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{' '.join(words)}: {error}") from error
    if check and done.returncode != 0:
        said = f"{done.stderr.strip()}\n{done.stdout.strip()}".strip()
        raise LabError(f"{' '.join(words)}: exit code {done.returncode}: {said[-ERROR_MAX:]}")
    return done.stdout


def _die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def spawn(*command, **options):
    """Start a long-lived process in a session of its own (a Ctrl-C is for us, not for it) which
    does not outlive us."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([str(word) for word in command], start_new_session=True,
                            preexec_fn=_die_with_parent, **options)


def end(process, grace_seconds=5):
    """SIGTERM, then SIGKILL to its whole group."""
    if process is None:
        return
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait_for(condition, seconds, what, every=0.05):
    """Poll until condition() is true; LabError if it is not within the time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise LabError(f"{what}: not within {seconds} s")
        time.sleep(every)


def put(path, value):
    """Write a sysfs or control file with one write(2)."""
    try:
        with open(path, "wb", buffering=0) as file:
            file.write(str(value).encode())
    except OSError as error:
        raise LabError(f"writing {value!r} to {path}: {error.strerror}") from error


def get(path):
    return Path(path).read_text(encoding="ascii").strip()


def tail(path, lines=TAIL_LINES):
    """The end of a log, for an error message."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:])


def is_mounted(path):
    """Asks the mount table: a dead FUSE mount does not answer stat(2), a hung one not at all."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return str(path) in (line.split()[1] for line in mounts)
