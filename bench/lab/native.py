# SPDX-License-Identifier: LGPL-3.0-or-later
"""An agent on this machine's own kernel, where a system call costs what it costs: User-Mode Linux makes one a
hundred times as expensive, and counts a processor's time in ticks.

This kernel may mount no NFS, and the agent must turn none of its knobs. So it runs in a mount namespace of its own
in which local file systems pass for NFS mounts of the lab's server: mountinfo, mountstats and the knobs are made up,
all else of /proc is real, and so are the writers that it finds there and the data that it sends. The first mount is
on a disk, the others in memory. What the kernel itself needs to write out the counters of NFS mounts is missing."""

import ipaddress
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from bench.lab.host import end, run, spawn, wait_for
from bench.lab.net import FIRST_CLIENT, SERVER_ADDRESS

DISK_MIB = 4096
NEWS_SECONDS = 0.05
VM_KNOBS = {"dirty_bytes": 0, "dirty_ratio": 20, "dirty_background_bytes": 0, "dirty_background_ratio": 10}
BDI_KNOBS = {"read_ahead_kb": 128, "min_ratio": 0, "max_ratio": 100}
OPERATIONS = ("NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR "
              "RENAME LINK READDIR READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT").split()
WSIZE = 1 << 20


def address_of(number, servers):
    """Of the server of a mount: with several of them, consecutive addresses of the one that there is (Network.answer_everywhere())."""
    return SERVER_ADDRESS if servers == 1 else str(ipaddress.ip_address(FIRST_CLIENT) + number % servers)


def mountinfo(number, device, point, source, address):
    return (f"{number} 1 {device} / {point} rw,relatime shared:9 - nfs {source} rw,vers=3,rsize={WSIZE},wsize={WSIZE},"
            "namlen=255,hard,nolock,proto=tcp,port=2049,timeo=600,retrans=2,sec=sys,mountvers=3,mountport=20048,"
            f"mountproto=tcp,local_lock=all,addr={address}\n")


def mountstats(point, source, written, sent):
    """Of one mount, as long whatever the numbers."""
    counts = dict.fromkeys(OPERATIONS, 0) | {"WRITE": sent // WSIZE, "COMMIT": sent // WSIZE}
    return (f"device {source} mounted on {point} with fstype nfs statvers=1.1\n"
            "\topts:\trw,vers=3,hard,nolock,proto=tcp,sec=sys,local_lock=all\n\tage:\t1000\n"
            "\tcaps:\tcaps=0x3fcf,wtmult=4096,dtsize=1048576,bsize=0,namlen=255\n\tsec:\tflavor=1,pseudoflavor=1\n"
            "\tevents:\t" + "0 " * 27 + f"\n\tbytes:\t0 {written:020} 0 0 0 {sent:020} 0 0 \n"
            "\tRPC iostats version: 1.1  p/v: 100003/3 (nfs)\n"
            "\txprt:\ttcp 0 1 1 0 0 1000 1000 0 1000 0 2 1000 1000\n\tper-op statistics\n" +
            "".join(f"\t{name:>12}: {n:012} {n:012} 0 0 0 0 {n:012} {n:012} 0\n" for name, n in counts.items()) + "\n")


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def stage(directory, mounts, servers, export, agent, config):
    """In the namespace: makes it up, and becomes the agent."""
    os.umask(0o022)
    mount("--make-rprivate", "/")
    for number in range(mounts):
        (directory / "nfs" / str(number)).mkdir(parents=True)
        what = ("-o", "loop", directory / "image") if number == 0 else ("-t", "tmpfs", "none")
        mount(*what, directory / "nfs" / str(number))
        (directory / "nfs" / str(number) / "data").touch()
    own = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    own = [(line[0], line[2], line[4]) for line in own if line[4].startswith(f"{directory}/nfs/")]
    addresses = [address_of(int(Path(point).name), servers) for _, _, point in own]
    (directory / "mountinfo").write_text("".join(mountinfo(*line, f"{address}:{export}", address)
                                                 for line, address in zip(own, addresses)))
    for name, value in VM_KNOBS.items():
        (directory / name).write_text(f"{value}\n")
        mount("--bind", directory / name, f"/proc/sys/vm/{name}")
    for _, device, _ in own:
        for name, value in BDI_KNOBS.items():
            (directory / "bdi" / device).mkdir(parents=True, exist_ok=True)
            (directory / "bdi" / device / name).write_text(f"{value}\n")
    mount("--bind", directory / "bdi", "/sys/class/bdi")
    for name in ("mountinfo", "mountstats"):
        mount("--bind", directory / name, f"/proc/{os.getpid()}/{name}")
    os.execv(agent, [agent, "--config", config])


class NativeAgent:
    """with NativeAgent(lab, mounts, options) as agent: agent.spawn(...) beside it, agent.cpu_seconds()."""

    def __init__(self, lab, mounts, options, servers=1):
        self.lab, self.mounts, self.options, self.servers = lab, mounts, options, servers
        self.directory = lab.directory / "native"
        self.process = None
        self._end = threading.Event()
        self._news = threading.Thread(target=self._tell, daemon=True)

    def point(self, number):
        return self.directory / "nfs" / str(number)

    def __enter__(self):
        self.directory.mkdir()
        run("truncate", "-s", f"{DISK_MIB}M", self.directory / "image")
        run("mkfs.ext4", "-q", self.directory / "image")
        self._write_stats(0, 0)
        config = self.directory / "agent.conf"
        options = {"mode": "enforce", "state_dir": self.directory / "state"} | self.options
        config.write_text("[agent]\n" + "".join(f"{k} = {v}\n" for k, v in options.items()), encoding="utf-8")
        with open(self.directory / "log", "wb") as log:
            self.process = self.lab.spawn_beside_server(
                "unshare", "--mount", sys.executable, "-m", "bench.lab.native", self.directory, self.mounts,
                self.servers, self.lab.disk.mount, self.lab.program("canfs-agent"), config, stderr=log,
                cwd=Path(__file__).resolve().parents[2])
        wait_for(lambda: (self.directory / "state/agent.sock").exists(), 20, "the native agent")
        self._news.start()
        return self

    def __exit__(self, *exception):
        self._end.set()
        self._news.join()
        end(self.process, 60)
        shutil.rmtree(self.directory, ignore_errors=True)

    def spawn(self, *command, **options):
        """A process that sees the mounts."""
        return spawn("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", *command, **options)

    def _tell(self):
        """What would be in mountstats: all that was written, and what of it is not dirty any more."""
        out = Path(f"/proc/{self.process.pid}/root{self.point(0)}/out")
        sent = 0
        while not self._end.wait(NEWS_SECONDS):
            written = out.stat().st_size if out.exists() else 0
            memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
            sent = max(sent, written - int(memory["Dirty"].split()[0]) * 1024)
            self._write_stats(max(written, sent), sent)

    def _write_stats(self, written, sent):
        text = "".join(mountstats(self.point(n), f"{address_of(n, self.servers)}:{self.lab.disk.mount}", *((written, sent) if n == 0 else (0, 0)))
                       for n in range(self.mounts))
        # In place: the file is mounted over the kernel's.
        fd = os.open(self.directory / "mountstats", os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(fd, text.encode(), 0)
        os.close(fd)

    def cpu_seconds(self):
        """(of the loop, of the helper that looks for writers and sends), since they began."""
        tasks = sorted(Path(f"/proc/{self.process.pid}/task").iterdir(), key=lambda task: int(task.name))
        loop, *others = (int((task / "schedstat").read_text().split()[0]) / 1e9 for task in tasks)
        return loop, sum(others)

    def rss_mib(self):
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]) / 1024

    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")


if __name__ == "__main__":
    stage(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
