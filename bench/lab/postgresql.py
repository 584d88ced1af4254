# SPDX-License-Identifier: LGPL-3.0-or-later
"""Debian's PostgreSQL and its pgbench: a database that is made on the host and used in a guest, and what they log."""

import re
import shutil
from pathlib import Path

from bench.lab.host import run

VERSIONS = Path("/usr/lib/postgresql")
USER = "postgres"  # of Debian's package; the server refuses to run as root
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
SOCKETS = "/run"   # in the guest, where it is its own
READY = "database system is ready to accept connections"
MAKE_SECONDS = 300
CONFIGURATION = {
    "listen_addresses": "",
    "unix_socket_directories": SOCKETS,
    "dynamic_shared_memory_type": "sysv",  # posix: files in /dev/shm, which is the host's
    "min_wal_size": "256MB",               # the segments of a database in service are used again, not made anew
    "log_checkpoints": "on",
    "log_line_prefix": "%n ",              # seconds of the guest's clock, as in the log of pgbench
    "log_min_duration_statement": 0,
}
_COMMIT = re.compile(r"^([\d.]+) LOG:  duration: ([\d.]+) ms  statement: END;$", re.M)
_CHECKPOINT = re.compile(r"^([\d.]+) LOG:  checkpoint complete: .* write=([\d.]+) s, sync=([\d.]+) s, total=([\d.]+) s", re.M)


def programs():
    """The folder of the newest release's; None: it is not installed."""
    folders = [path for path in VERSIONS.glob("*/bin") if (path / "postgres").exists() and (path / "pgbench").exists()]
    return max(folders, key=lambda path: float(path.parent.name), default=None)


def what_is_missing():
    return None if programs() else "postgresql is not installed (bench/setup --lab installs it)"


def make(directory, scale, **settings):
    """A data directory with the tables of pgbench, shut down. Whatever leads there must let USER pass."""
    directory.mkdir()
    shutil.chown(directory, USER, USER)
    directory.chmod(0o700)

    def program(name, *words):
        run(*AS_USER, programs() / name, *words, timeout=MAKE_SECONDS)

    program("initdb", "--no-sync", "--no-locale", "--encoding=UTF8", "--auth=trust", "-D", directory)
    with open(directory / "postgresql.conf", "a", encoding="ascii") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in (CONFIGURATION | settings).items())
    program("pg_ctl", "start", "-w", "-D", directory, "-l", directory / "made.log",
            "-o", f"-c fsync=off -c unix_socket_directories={directory}")
    try:
        program("pgbench", "--initialize", "--quiet", f"--scale={scale}", "-h", directory, "postgres")
    finally:
        program("pg_ctl", "stop", "-w", "-m", "fast", "-D", directory)


def server_command(directory):
    """For a guest; it logs to its standard error."""
    return [*AS_USER, programs() / "postgres", "-D", directory]


def bench_command(connections, seconds, seed, log):
    """For a guest: TPC-B; each transaction becomes a line of LOG.*."""
    return [programs() / "pgbench", "--no-vacuum", f"--client={connections}", "--jobs=2", f"--time={seconds}", f"--random-seed={seed}",
            "--log", f"--log-prefix={log}", "-h", SOCKETS, "-U", USER, "postgres"]


def transactions(text):
    """Of the log of pgbench: [(when it ended, milliseconds)], by time."""
    words = (line.split() for line in text.splitlines())
    return sorted((int(word[4]) + int(word[5]) / 1e6, int(word[2]) / 1e3) for word in words)


def commits(text):
    """Of the server's log: [(when it ended, milliseconds)] of each END."""
    return sorted((float(when), float(took)) for when, took in _COMMIT.findall(text))


def checkpoints(text):
    """Of the server's log: those that were completed."""
    return [dict(zip(("when", "write", "sync", "total"), map(float, found))) for found in _CHECKPOINT.findall(text)]
