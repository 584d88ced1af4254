# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the end-to-end tests share: how a test ends, an agent in a guest, a server that is expensive on demand.

A test is a program: exit status 0 passed, 1 failed (the last line of stderr says what), 77 skipped (with
its reason). Environment: CANFS_BUILD, the build directory (default build/dev). Nothing here asserts how
long anything takes: states are waited for, with limits that only a hang meets.
"""

import hashlib
import os
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))
from bench.lab.ganesha import GaneshaError, release  # noqa: E402
from bench.lab.host import LabError, end, hide_mounts, run, wait_for  # noqa: E402
from bench.lab.lab import MOUNT_POINT, Guest, Lab, what_is_missing  # noqa: E402

BUILD = Path(os.environ.get("CANFS_BUILD", ROOT / "build" / "dev")).resolve()
DISK_MIB = 4096
TIMEOUT_SECONDS = 90
STATE_DIR = "/run/canfs"  # of the agent; /run is the guest's own
JOURNAL = f"{STATE_DIR}/journal"
DATA = "busy-data"
DATA_MB = 200
READERS = 3
READERS_PHASE_SECONDS = 3000
# Only the disk decides, and its nominal queue is one: readers make it as expensive as can be, and
# without them it costs nothing.
ONLY_DISK = {"Monitors": "disk", "Disk_Read_Queue": 1, "Disk_Write_Queue": 4096}
HELD_MIB = 48
NO_DELEGATIONS = "this release of NFS-Ganesha gives other clients wrong attributes"
FIRST_WITHOUT_DELEGATIONS = (9, 0)
ENTER_CGROUP = 'if [ "$1" ]; then echo $$ >"/sys/fs/cgroup$1/cgroup.procs" || exit; fi; shift; exec "$@"'
KNOBS = r"""
for knob in /proc/sys/vm/dirty_* /sys/class/bdi/*/{min_ratio,max_ratio,read_ahead_kb,strict_limit}; do
	[ -e "$knob" ] && echo "$knob $(<"$knob")"
done
true
"""


OPENS = "awk '$1 == \"OPEN:\" || $1 == \"OPEN_NOATTR:\" { n += $2 } END { print n }' /proc/self/mountstats"
HAS_DELEGATION = f'a=$({OPENS}); : <"$1"; b=$({OPENS}); [ $a = $b ] && echo yes || echo no'


class Skipped(Exception):
    """The text is the reason."""


class Failed(Exception):
    """The product did not do what the test wants; the text is for the person at the terminal."""


def check(condition, message):
    if not condition:
        raise Failed(message)


def main(test):
    """Runs test(lab) and ends the program as a test does."""
    missing = what_is_missing()
    for part in ("ganesha-fsal/libfsalcanfs.so", "client-agent/canfs-agent", "bench/canfs-disk"):
        if not missing and not (BUILD / part).exists():
            missing = f"{BUILD / part} is not built"
    if missing:
        print(missing)
        sys.exit(77)
    hide_mounts()
    try:
        with Lab(BUILD, disk_mib=DISK_MIB) as lab:
            lab.disk.control("mode=free")
            test(lab)
    except Skipped as reason:
        print(reason)
        sys.exit(77)
    except (Failed, LabError, GaneshaError) as error:
        print(f"failed: {error}", file=sys.stderr)
        sys.exit(1)


def say(text):
    """Where a test is, for the log of one that fails."""
    print(text, flush=True)


def md5(path):
    return hashlib.md5(Path(path).read_bytes()).hexdigest()


def start_delegating(lab, pmax_percent=0, **options):
    """A server with these options, if its release may grant delegations; else the test is skipped. They do not depend on prices, unless these
    may rise."""
    lab.start_server("CANFS", ONLY_DISK | {"Pmax_Percent": pmax_percent}, **options)
    refused = NO_DELEGATIONS in lab.server.log_text()
    check(refused == (release() >= FIRST_WITHOUT_DELEGATIONS), f"whether this release grants delegations: {not refused}")
    if refused:
        [guest] = lab.start_clients([Guest("v41", 256, "4.1")])
        shell = Shell(guest)
        shell('echo >"$1"', f"{MOUNT_POINT}/file")
        check(not shell.has_delegation(f"{MOUNT_POINT}/file"), "a delegation, where the server says that there is none")
        raise Skipped(f"NFS-Ganesha {'.'.join(map(str, release()))}: {NO_DELEGATIONS}")


def reload(lab):
    """The server reads its configuration again, as it is now."""
    done = "Reread exports complete"
    already = lab.server.log_text().count(done)

    def is_done():
        check(lab.server.pid, "the server has ended")
        return lab.server.log_text().count(done) > already

    lab.server.write_config()
    lab.server.reload()
    wait_for(is_done, TIMEOUT_SECONDS, "the configuration is read again")


class Shell:
    """Short commands in a guest, one after another."""

    def __init__(self, client):
        self.client = client
        self._jobs = 0

    def job(self, name, *command):
        """Starts a program; its name is made unique."""
        self._jobs += 1
        return self.client.run(f"{name}{self._jobs}", *command)

    def start(self, script, *arguments):
        return self.job("sh", "bash", "-c", script, "sh", *arguments)

    def __call__(self, script, *arguments, seconds=TIMEOUT_SECONDS):
        """Its standard output."""
        return self.start(script, *arguments).wait(seconds)

    def wait(self, condition, *arguments, seconds=TIMEOUT_SECONDS):
        """Until a shell command is true; whether it came to that. (What a guest writes reaches the
        host late, so that files of a guest are looked at from inside.)"""
        script = f"for ((i = 0; i < {seconds * 10}; i++)); do {condition} && break; sleep 0.1; done; " \
                 f"{condition} && echo yes; true"
        return self(script, *arguments, seconds=seconds * 4) == "yes\n"

    def has_delegation(self, path):
        """Of a file on an NFSv4 mount: to open it once more does not ask the server."""
        return self(HAS_DELEGATION, path) == "yes\n"

    def knobs(self):
        """{path: value} of all knobs that an agent might turn."""
        return dict(line.split(" ", 1) for line in self(KNOBS).splitlines())


class Local:
    """Short commands on the server, as a Shell."""

    def __call__(self, script, *arguments, seconds=TIMEOUT_SECONDS):
        return run("bash", "-c", script, "sh", *arguments, timeout=seconds)


def difference(before, after):
    """Of two Shell.knobs(), for a message."""
    return ", ".join(f"{path}: {before.get(path)} -> {after.get(path)}"
                     for path in sorted(before.keys() | after.keys())
                     if before.get(path) != after.get(path))


def check_same_knobs(before, after, when):
    check(before == after, f"knobs differ {when}: {difference(before, after)}")


class Agent:
    """A canfs-agent in a guest."""

    def __init__(self, lab, shell, mode="enforce", **options):
        self.lab = lab
        self.shell = shell
        client = shell.client
        self.config = client.directory / "agent.conf"
        lines = {"mode": mode, "state_dir": STATE_DIR, "price_idle_sec": 1} | options
        self.config.write_text(
            "[agent]\n" + "".join(f"{name} = {value}\n" for name, value in lines.items()),
            encoding="ascii")
        self.program = lab.program("canfs-agent")
        self.job = None

    def start(self):
        self.job = self.shell.job("agent", self.program, "--config", self.config)

    @property
    def log_path(self):
        return f"{self.shell.client.directory}/{self.job.name}.err"

    def log(self):
        return self.shell('cat "$1"', self.log_path)

    def wait_log(self, pattern, seconds=TIMEOUT_SECONDS):
        """pattern: an extended regular expression for one line."""
        if not self.shell.wait('grep -Eq -- "$2" "$1"', self.log_path, pattern, seconds=seconds):
            raise Failed(f"{self.shell.client.name}: the agent's log has no /{pattern}/:\n{self.log()}")

    def wait_more_log(self, pattern, count, seconds=TIMEOUT_SECONDS):
        """Until it has come more than count times."""
        condition = '[ "$(grep -Ec -- "$2" "$1")" -gt "$3" ]'
        if not self.shell.wait(condition, self.log_path, pattern, count, seconds=seconds):
            raise Failed(f"{self.shell.client.name}: the agent's log has /{pattern}/ "
                         f"{count} times or less:\n{self.log()}")

    def count_log(self, pattern):
        return int(self.shell('grep -Ec -- "$2" "$1" || true', self.log_path, pattern))

    def kill(self):
        """As a crash would."""
        self.job.signal("KILL")
        wait_for(self.job.is_done, TIMEOUT_SECONDS, "the agent's end by SIGKILL")

    def stop(self):
        """SIGTERM; it must end well. Its log."""
        self.job.signal("TERM")
        self.job.wait(TIMEOUT_SECONDS)
        return self.job.errors()

    def restore(self):
        """canfs-agent --restore; what it says, on either stream."""
        job = self.shell.job("restore", self.program, "--config", self.config, "--restore")
        return job.wait(TIMEOUT_SECONDS) + job.errors()


class Busy:
    """Readers at the server's disk: while they run, a CANFS server with ONLY_DISK is expensive."""

    def __init__(self, lab):
        self.lab = lab
        self._readers = []

    def __enter__(self):
        if not (self.lab.disk.mount / DATA).exists():
            self.lab.disk.write_file(DATA, megabytes=DATA_MB)
        self.lab.disk.model_on()
        for seed in range(READERS):
            self._readers.append(self.lab.spawn_beside_server(
                self.lab.program("canfs-job-read"), "--direct", "--seed", seed, "--phases",
                f"0-{READERS_PHASE_SECONDS}", self.lab.disk.mount / DATA))
        return self

    def is_on(self):
        return bool(self._readers)

    def stop(self):
        for reader in self._readers:
            end(reader)
        self._readers.clear()
        self.lab.disk.control("mode=free")

    def __exit__(self, *_):
        self.stop()


class HeldFile:
    """A file that a guest writes and keeps open while its agent holds the data back. The server must be
    expensive, the agent running and the knobs in their stock state; is_held: or data is held already. cgroup: the writer's."""

    def __init__(self, lab, shell, name, is_held=False, cgroup=""):
        self.lab = lab
        self.shell = shell
        self.name = name
        self.pattern = lab.directory / f"{Path(name).name}.pattern"
        self.pattern.write_bytes(random.Random(name).randbytes(HELD_MIB << 20))
        self.flag = f"/run/{Path(name).name}"
        stock = "" if is_held else shell("cat /proc/sys/vm/dirty_bytes").strip()
        self.job = shell.job("hold", "bash", "-c", ENTER_CGROUP, "bash", cgroup, "python3", HERE / "hold.py", lab.on_mount(name),
                             self.pattern, self.flag, stock)

    def wait_held(self, agent):
        """Until all is written, but not sent."""
        self.shell.wait('[ -e "$1.held" -o -e "$1.sent" ]', self.flag)
        if self.shell('[ -e "$1.held" ] && echo yes || true', self.flag) != "yes\n":
            raise Failed(f"the agent did not hold {self.name} back:\n{agent.log()}")
        dirty_kib = self.shell("sed -n 's/^Dirty: *\\([0-9]*\\) .*/\\1/p' /proc/meminfo")
        check(int(dirty_kib) > HELD_MIB * 1024 // 2, f"only {dirty_kib.strip()} KiB are held back:\n"
              f"{agent.log()}")

    def close(self):
        self.shell(': >"$1.close"', self.flag)
        self.job.wait(TIMEOUT_SECONDS)

    def check_on_server(self, when):
        run("sync", "-f", self.lab.disk.mount)
        check(md5(self.lab.disk.mount / self.name) == md5(self.pattern),
              f"{self.name} differs on the server {when}")
