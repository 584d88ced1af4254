# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a lab leaves behind if its own process is killed with SIGKILL: most of its processes die with
it, but some helpers, mounts, loop devices, namespaces and cgroups stay. The next lab takes them away:
all that carries the name of a lab whose process is gone. A process id says nothing where there is another namespace of them, as in
tests/trixie, so a name has that of the namespace, too."""

import os
import re
import shutil
import signal
import time
from pathlib import Path

from bench.lab.host import run
from bench.lab.loop import remove

PREFIX = f"canfs-lab-n{os.stat('/proc/self/ns/pid').st_ino}-"  # then the process id of the lab
LOOP_NOTE = "loop"     # in its directory, or one below: the number of its loop device
DIRECTORIES = Path("/tmp")
NAMESPACES = Path("/run/netns")
CGROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))


def _is_stale(text):
    match = re.search(re.escape(PREFIX) + r"(\d+)", text)
    return match is not None and not os.path.exists(f"/proc/{match[1]}")


def _stale_in(directory):
    return [path for path in directory.glob(f"*{PREFIX}*") if _is_stale(path.name)]


def _stale_processes(cgroups):
    """User-Mode Linux's helpers have the lab's directory on their command line; rpcbind changes its
    user, which makes the kernel forget that it was to die with us, but not its cgroup."""
    pids = {int(pid) for cgroup in cgroups
            for pid in (cgroup / "cgroup.procs").read_text(encoding="ascii").split()}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"uml_dir={DIRECTORIES}/{PREFIX}" in command and _is_stale(command):
            pids.add(int(process.name))
    return pids


def _sweep_processes(cgroups):
    pids = _stale_processes(cgroups)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if pids:
        time.sleep(0.5)  # their mount namespaces hold the loop device
    for cgroup in cgroups:
        try:
            cgroup.rmdir()
        except OSError:
            pass  # something in it is still dying: the next lab will


def _unmount(suffix):
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    for mount in [line.split()[1] for line in lines]:
        if mount.startswith(f"{DIRECTORIES}/{PREFIX}") and mount.endswith(suffix) and \
                _is_stale(mount):
            run("umount", "-l", mount, check=False)


def _remove_loop(note):
    """Of which somebody else may have become the user meanwhile: then it stays."""
    if note.exists() and note.read_text(encoding="ascii").isdigit():
        remove(int(note.read_text(encoding="ascii")))


def sweep():
    _sweep_processes([path for root in CGROUPS for path in _stale_in(root)])
    _unmount("/volume")
    _unmount("/export")
    # while the model is mounted: after it the loop device no longer shows whose it was
    for line in run("losetup", "-l", "-n", "-O", "NAME,BACK-FILE").splitlines():
        if _is_stale(line):
            run("losetup", "-d", line.split()[0], check=False)
    _unmount("/model")
    for namespace in _stale_in(NAMESPACES):
        run("ip", "netns", "delete", namespace.name, check=False)
    for directory in _stale_in(DIRECTORIES):
        for note in (*directory.glob(LOOP_NOTE), *directory.glob(f"*/{LOOP_NOTE}")):
            _remove_loop(note)
        shutil.rmtree(directory, ignore_errors=True)
