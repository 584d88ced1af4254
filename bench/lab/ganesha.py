# SPDX-License-Identifier: LGPL-3.0-or-later
"""A real NFS-Ganesha in a network namespace, in a mount namespace of its own.

    with Ganesha([("/srv/disk", "CANFS")], netns="lab", directory="/tmp/lab/ganesha",
                 build="build/release", options={"Monitors": "network, disk, memory"},
                 memory_limit_bytes=512 << 20) as server:
        ...                      # NFSv3 and v4 on port 2049, MOUNT on 20048, rpcbind on 111
        server.kill()            # as kill -9
        server.start()           # again, with the same rpcbind, hosts file and grace settings

exports     list of (path, stack): stack is "CANFS" (CANFS over VFS), "VFS", or another FSAL below CANFS as
            "CANFS MEM; Async_Delay = 9", whose plugin must be installed. A path is exported under
            its own name, to NFSv3 and as NFSv4 pseudo path. Not below /run or /var/lib/nfs: these are
            fresh in the mount namespace. Mounts made outside before start() are seen inside.
netns       name of an existing network namespace, with lo up and one more interface with an address.
directory   configuration, hosts file, plugin directory and ganesha.log are written there and kept.
build       CMake build directory with ganesha-fsal/libfsalcanfs.so; needed for CANFS.
options     what stands in the CANFS { } block, name to value.
classes     what stands in Class { } blocks in it: ["Name = batch; Clients = 10.0.3.0/24; Premium = 30;"].
export_options   likewise for the FSAL { Name = CANFS; } block of an export, by the export's path.
includes    files for %include; with any, a CANFS { } block is written only for options.
core        likewise for NFS_CORE_PARAM { }, besides what is needed here.
blocks      further blocks, or items of NFSV4 { }: {"MDCACHE": {"Dir_Chunk": 0}}.
memory_limit_bytes   puts the server, page cache included, into a memory cgroup (v1 or v2) of that size.
rpcbind     False: none runs; for a server of NFSv4 alone.
allocator   a library as libjemalloc.so.2: Ganesha and its FSALs, but not CANFS, are as if linked with it (by patchelf);
            default CANFS_ALLOCATOR of the environment.
wrapper     command to put before ganesha.nfsd: valgrind, strace, gdbserver.

start(), stop() (the exit status; 0 is a clean stop), kill(), reload() (SIGHUP), close() (stop everything;
called by `with`); pid, log_text(). GaneshaError names what went wrong, with the log's own words. Start it
from the main thread: its processes are killed when the thread that started them ends, so that nothing is
left behind even if this program dies.
"""

import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

from bench.lab.cgroup import MemoryCgroup

# What may be a Scheduler of CANFS { }, from the table of them.
POLICIES = (*re.findall(r'row\(\w+, "([^"]+)"\)', (pathlib.Path(__file__).resolve().parents[2] /
                                                  "ganesha-fsal/read/scheduler/policies.h").read_text()), "auto")
READY = "NFS SERVER INITIALIZED"
PLUGIN_DIRS = ("/usr/lib/x86_64-linux-gnu/ganesha", "/usr/lib/aarch64-linux-gnu/ganesha",
               "/usr/lib64/ganesha", "/usr/lib/ganesha")

# What the server must not share with the machine: its state, rpcbind's socket, and names. A host name that
# only a dead resolver could answer for makes each start take seconds. /sys is mounted anew, since it shows
# the network interfaces of the namespace it was mounted in; the cgroups below it stay.
MOUNTS = """
set -e
mount --make-rprivate /
mkdir -p "$1/cgroup"
mount --rbind /sys/fs/cgroup "$1/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$1/cgroup" /sys/fs/cgroup
umount -l "$1/cgroup"
rmdir "$1/cgroup"
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib/nfs
mkdir -p /run/rpcbind /run/ganesha /var/lib/nfs/ganesha
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1/resolv.conf" /etc/resolv.conf
exec "${@:2}"
"""

# Instead of rpcbind, for a server without one: it holds the mount namespace.
NO_RPCBIND = ("sh", "-c", ": >/run/rpcbind.sock; exec sleep infinity")


class GaneshaError(Exception):
    pass


def release():
    """The (major, minor) of the ganesha.nfsd that is installed."""
    said = subprocess.run(["ganesha.nfsd", "-v"], text=True, capture_output=True).stdout
    number = re.search(r"V(\d+)\.(\d+)", said)
    if number is None:
        raise GaneshaError(f"ganesha.nfsd -v names no release: {said.strip()}")
    return int(number[1]), int(number[2])


def core_of_release():
    """More of NFS_CORE_PARAM: in a container it may lack CAP_SYS_RESOURCE; 4.3 does not ask for that, nor knows the name."""
    return {"Allow_Set_Io_Flusher_Fail": "true"} if release() >= (6, 0) else {}


def packaged_plugin(fsal):
    """The plugin of an FSAL as Debian packages it; None: it is not installed."""
    files = (pathlib.Path(d) / f"libfsal{fsal.lower()}.so" for d in PLUGIN_DIRS)
    return next((file for file in files if file.exists()), None)


def below_of(stack):
    """The FSAL that has the files, with its own options."""
    return stack.removeprefix("CANFS").strip() or "VFS"


class Ganesha:
    def __init__(self, exports, netns, directory, build=None, options=None, core=None,
                 memory_limit_bytes=None, blocks=None, wrapper=(), rpcbind=True, export_options=None, includes=(),
                 classes=(), export_items=None, allocator=os.environ.get("CANFS_ALLOCATOR")):
        self.exports = list(exports)
        self.netns = netns
        self.directory = pathlib.Path(directory).resolve()
        self.build = pathlib.Path(build).resolve() if build else None
        self.options = dict(options or {})
        self.classes = list(classes)
        self.export_options = dict(export_options or {})
        self.export_items = dict(export_items or {})
        self.includes = list(includes)
        self.core = dict(core or {})
        self.blocks = dict(blocks or {})
        self.memory_limit_bytes = memory_limit_bytes
        self.wrapper = list(wrapper)
        self.rpcbind = rpcbind
        self.allocator = allocator
        self.log_path = self.directory / "ganesha.log"
        self.config_path = self.directory / "ganesha.conf"
        self._rpcbind = None
        self._ganesha = None
        self._cgroup = None

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        """Process id of ganesha.nfsd; None while it does not run."""
        running = self._ganesha is not None and self._ganesha.poll() is None
        return self._ganesha.pid if running else None

    def log_text(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def _memory_stat(self):
        return dict(line.split() for line in (self._cgroup.path / "memory.stat").read_text().splitlines())

    def evicted_bytes(self):
        """What was in the page cache of its memory cgroup, was reclaimed (not dropped), and was read again, so far."""
        return int(self._memory_stat()["workingset_refault_file"]) * resource.getpagesize()

    def cache_room_bytes(self):
        """What the page cache in the server's memory cgroup could grow to."""
        stat = self._memory_stat()
        used = next(path for name in ("memory.usage_in_bytes", "memory.current")
                    if (path := self._cgroup.path / name).exists())
        cached = int(stat.get("total_cache") or stat["file"])
        return cached + max(0, self.memory_limit_bytes - int(used.read_text()))

    def start(self, timeout_sec=30):
        """Starts the server (and rpcbind, if that does not run) and waits until it serves."""
        self.write_config()
        self._make_cgroup()
        if self._rpcbind is None:
            self._start_rpcbind(timeout_sec)
        already = len(self.log_text())
        enter = ["nsenter", "--target", str(self._rpcbind.pid), "--mount", "--net"]
        serve = self.wrapper + [self._program(), "-F", "-f", str(self.config_path), "-L", str(self.log_path),
                 "-p", "/run/ganesha.pid", "-N", "NIV_EVENT"]
        self._ganesha = self._spawn(enter + serve, "ganesha.out")
        deadline = time.monotonic() + timeout_sec
        while READY not in self.log_text()[already:]:
            status = self._ganesha.poll()
            if status is not None:
                raise GaneshaError(f"ganesha.nfsd ended with status {status}: "
                                   f"{self._warnings(already)}")
            if time.monotonic() > deadline:
                raise GaneshaError(f"ganesha.nfsd is not ready after {timeout_sec} s: "
                                   f"{self._warnings(already)}")
            time.sleep(0.02)

    def stop(self, timeout_sec=30):
        """SIGTERM; returns the exit status. A server that does not end in time is killed (-9)."""
        if self._ganesha is None:
            return 0
        if self._ganesha.poll() is None:
            self._ganesha.send_signal(signal.SIGTERM)
        return self._reap(timeout_sec)

    def kill(self):
        """Ends the server as a crash would."""
        if self._ganesha is not None:
            self._ganesha.kill()
            self._reap(10)

    def reload(self):
        """SIGHUP: exports are re-read (write_config() first, if they changed)."""
        self._ganesha.send_signal(signal.SIGHUP)

    def close(self):
        """Stops everything and takes the cgroup away; may be called twice."""
        self.stop()
        if self._rpcbind is not None:
            self._rpcbind.kill()
            self._rpcbind.wait()
            self._rpcbind = None
        if self._cgroup is not None:
            self._cgroup.remove()
            self._cgroup = None

    def write_config(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n")
        (self.directory / "resolv.conf").write_text("")
        core = {"Protocols": "3, 4", "NFS_Port": 2049, "MNT_Port": 20048, "Enable_NLM": "false",
                "Enable_RQUOTA": "false", "mount_path_pseudo": "false",
                "Plugins_Dir": self._plugin_dir()}
        core |= core_of_release() | self.core
        more = {"NFSV4": {"Graceless": "true", "RecoveryBackend": "fs"}}
        for name, items in self.blocks.items():
            more[name] = more.get(name, {}) | items
        blocks = [_block("NFS_CORE_PARAM", core),
                  *(_block(name, items) for name, items in more.items())]
        if any(stack.startswith("CANFS") for _, stack in self.exports) and \
                (self.options or self.classes or not self.includes):
            blocks.append(_block("CANFS", self.options, " ".join(f"Class {{ {text} }}" for text in self.classes)))
        blocks += [f'%include "{path}"\n' for path in self.includes]
        for number, (path, stack) in enumerate(self.exports, start=1):
            own = "".join(f"{key} = {value}; " for key, value in self.export_options.get(path, {}).items())
            below = below_of(stack)
            end = "" if below.endswith("}") else ";"
            fsal = f"FSAL {{ Name = {below}{end} }}" if stack == below else \
                f"FSAL {{ Name = CANFS; {own}FSAL {{ Name = {below}{end} }} }}"
            blocks.append(_block("EXPORT", {
                "Export_Id": number, "Path": path, "Pseudo": path, "Access_Type": "RW",
                "Squash": "None", "SecType": "sys", "Protocols": "3, 4"} | self.export_items, fsal))
        self.config_path.write_text("\n".join(blocks))

    def _plugin_dir(self):
        """A directory with our plugin and links to the packaged ones."""
        plugins = self.directory / "plugins"
        shutil.rmtree(plugins, ignore_errors=True)
        plugins.mkdir()
        for below in {below_of(stack).split(";")[0] for _, stack in self.exports} - {"CANFS"}:
            name = f"libfsal{below.lower()}.so"
            packaged = packaged_plugin(below)
            if packaged is None:
                raise GaneshaError(f"{name} is not installed (package nfs-ganesha-{below.lower()})")
            self._put(packaged, plugins / name)
        if self.build is not None:
            ours = self.build / "ganesha-fsal" / "libfsalcanfs.so"
            if not ours.exists():
                raise GaneshaError(f"{ours} is not built")
            (plugins / "libfsalcanfs.so").symlink_to(ours)
        return plugins

    def _program(self):
        """ganesha.nfsd; with another allocator a copy, which finds its copy of the library before the packaged one."""
        if not self.allocator:
            return "ganesha.nfsd"
        program = self.directory / "ganesha.nfsd"
        self._put(shutil.which("ganesha.nfsd"), program)
        for library in (file for d in PLUGIN_DIRS for file in pathlib.Path(d).glob("libganesha_nfsd.so.*.*")):
            self._put(library, self.directory / library.name)
        subprocess.run(["patchelf", "--set-rpath", ":".join((str(self.directory), *PLUGIN_DIRS)), program], check=True)
        return str(program)

    def _put(self, packaged, file):
        """A file of Ganesha's: as it is, or as if it had been linked with the allocator."""
        file.unlink(missing_ok=True)
        if not self.allocator:
            file.symlink_to(packaged)
            return
        shutil.copy(packaged, file)
        subprocess.run(["patchelf", "--add-needed", self.allocator, file], check=True)

    def _start_rpcbind(self, timeout_sec):
        command = ["nsenter", f"--net=/run/netns/{self.netns}", "unshare", "--mount",
                   "bash", "-c", MOUNTS, "bash", str(self.directory),
                   *(("rpcbind", "-w", "-f") if self.rpcbind else NO_RPCBIND)]
        self._rpcbind = self._spawn(command, "rpcbind.out")
        # Seen from outside: the socket appears when the mounts are made and rpcbind answers.
        ready = pathlib.Path(f"/proc/{self._rpcbind.pid}/root/run/rpcbind.sock")
        deadline = time.monotonic() + timeout_sec
        while not ready.exists():
            if self._rpcbind.poll() is not None or time.monotonic() > deadline:
                said = (self.directory / "rpcbind.out").read_text(errors="replace").strip()
                raise GaneshaError(f"rpcbind did not start in namespace {self.netns}: {said}")
            time.sleep(0.02)

    def _spawn(self, command, output):
        """Starts it in the cgroup, in a session of its own (Ctrl-C is ours to handle)."""
        command = ["setpriv", "--pdeathsig", "KILL"] + command
        if self._cgroup is not None:
            command = self._cgroup.enter() + command
        with open(self.directory / output, "ab") as out:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    start_new_session=True)

    def _reap(self, timeout_sec):
        try:
            status = self._ganesha.wait(timeout_sec)
        except subprocess.TimeoutExpired:
            self._ganesha.kill()
            status = self._ganesha.wait()
        self._ganesha = None
        return status

    def _warnings(self, offset):
        """The last lines of the log that say what is wrong; the log's place if there are none."""
        lines = [line.split(" :", 3)[-1] for line in self.log_text()[offset:].splitlines()
                 if any(level in line for level in (":CRIT :", ":MAJ :", ":FATAL :"))
                 and ":DBUS :" not in line]
        out = (self.directory / "ganesha.out").read_text(errors="replace").split("\n")
        return "; ".join(lines[-6:]) or "; ".join(out[-4:]) or f"see {self.log_path}"

    def _make_cgroup(self):
        if self.memory_limit_bytes is not None and self._cgroup is None:
            self._cgroup = MemoryCgroup(self.netns, self.memory_limit_bytes)


def _block(name, items, more=""):
    lines = [f"\t{key} = {value};" for key, value in items.items()]
    return "\n".join([f"{name} {{", *lines, *([f"\t{more}"] if more else []), "}"]) + "\n"
