# SPDX-License-Identifier: LGPL-3.0-or-later
"""Processes on the server that open files of which a client has delegations."""

import contextlib
import subprocess
from pathlib import Path

from harness import check, wait_for
from bench.lab.host import end
from bench.lab.lab import MOUNT_POINT

FREEZE_SECONDS = 30  # half of the time that a client has for its answer
BACK_SECONDS = 150
MINE = "of the holder"
# A delegation may be recalled just before the network is cut. Then the open waits for the server.
APPEND = """text=$1; shift
timeout -s KILL 10 bash -c 'text=$1; shift; for path; do exec 3>>"$path"; done
	for path; do printf %s "$text" >>"$path"; done' bash "$text" "$@" && echo done || true"""
UNSENT_TRIES = 3
TRUNCATE = 'printf %s "$2" >"$1"'


def stack(process):
    return Path(f"/proc/{process.pid}/stack").read_text(encoding="ascii")


class Opener:
    """A process of this machine that opens a file of the server's disk; what it says in the end."""

    def __init__(self, script, path, *more):
        self.process = subprocess.Popen(["bash", "-c", script, "sh", path, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.path = path

    def is_waiting(self):
        check(self.process.poll() is None, f"who opens {self.path} does not wait: {self.process.returncode}")
        return "fanotify" in stack(self.process)

    def wait_blocked(self):
        wait_for(self.is_waiting, FREEZE_SECONDS, f"who opens {self.path} waits")
        return self

    def wait(self, seconds):
        said, errors = self.process.communicate(timeout=seconds)
        check(self.process.returncode == 0, f"who opens {self.path}: {errors.strip()}")
        return said

    def end(self):
        end(self.process)


@contextlib.contextmanager
def openers():
    """A list of what is to be ended in any case."""
    started = []
    try:
        yield started
    finally:
        for opener in started:
            opener.end()


@contextlib.contextmanager
def has_unsent(lab, holder, names):
    """The holder has closed these files, and cannot send its data before this context ends."""
    paths = [f"{MOUNT_POINT}/{name}" for name in names]
    holder('for path; do : >"$path"; done; for path; do : >>"$path"; done', *paths)
    for _ in range(UNSENT_TRIES):
        for path in paths:
            wait_for(lambda: holder.has_delegation(path) or holder(': >>"$1"', path), BACK_SECONDS, f"a delegation of {path}")
        lab.network.cut(holder.client.index)
        try:
            if holder(APPEND, MINE, *paths) == "done\n":
                yield
                return
        finally:
            lab.network.join(holder.client.index)
    check(False, f"{names}: delegations were recalled {UNSENT_TRIES} times just before they were used")
