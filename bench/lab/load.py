# SPDX-License-Identifier: LGPL-3.0-or-later
"""Load on the server from clients that run on the host (canfs-job-load), and what the server does."""

import json
import subprocess
import threading
import time

from bench.lab.host import LabError, end, get, spawn

SAMPLE_SECONDS = 0.5


class Load:
    """One client. options: of canfs-job-load, True for those without a value; enter: words that lead into
    its namespace."""

    def __init__(self, lab, enter, file, **options):
        words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
                 for name, value in options.items()]
        self._process = spawn(*enter, lab.program("canfs-job-load"), *words,
                              f"nfs://{lab.source().replace(':', '', 1)}/{file}",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._begun = threading.Event()
        self.begin = None  # of the monotonic clock
        self.ops = []      # [(seconds since the phases began, reads since the entry before)]
        self.latency = {}  # p50_ms, p99_ms; once it has ended
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for text in self._process.stdout:
            line = json.loads(text)
            if "begins" in line:
                self.begin = line["begins"]
                self._begun.set()
            elif "p99_ms" in line:
                self.latency = line
            else:
                self.ops.append((round(time.monotonic() - self.begin, 3), line["ops"]))
        self._begun.set()

    def wait_begin(self, seconds):
        """When its phases begin, on the monotonic clock."""
        if not self._begun.wait(seconds) or self.begin is None:
            raise LabError(f"canfs-job-load does not begin: {self.stop()}")
        return self.begin

    def wait(self, seconds):
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            self.stop()
            raise LabError(f"canfs-job-load still runs after {seconds:.0f} s") from error
        said = self.stop()
        if code != 0:
            raise LabError(f"canfs-job-load: exit code {code}: {said}")

    def stop(self):
        """What it said on standard error."""
        end(self._process)
        self._thread.join()
        said = "" if self._process.stderr.closed else self._process.stderr.read().decode()
        self._process.stdout.close()
        self._process.stderr.close()
        return said.strip()


def fill_server_cache(lab, mebibytes, seconds):
    """By the server itself: what another process reads is not in its memory cgroup."""
    Load(lab, lab.network.enter(), "data", block_kib=1024, reread_mib=mebibytes,
         phases="0-0.1:1").wait(seconds)


class ServerWatch:
    """Samples the counters of the server's disk and of one of its interfaces."""

    def __init__(self, lab, interface):
        self._lab = lab
        self._interface = interface
        self._net = f"/proc/{lab.server.pid}/net/dev"
        self._disk = f"/sys/block/{lab.disk.loop.rsplit('/', 1)[1]}/stat"
        self._over = threading.Event()
        self.samples = []  # monotonic seconds, and counters
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._over.wait(SAMPLE_SECONDS):
            disk = get(self._disk).split()
            self.samples.append({"at": time.monotonic(), "sent_bytes": self._sent_bytes(),
                                 "disk_read_bytes": int(disk[2]) * 512,
                                 "disk_read_wait_msec": int(disk[3])})

    def _sent_bytes(self):
        for line in get(self._net).splitlines():
            name, _, numbers = line.partition(":")
            if name.strip() == self._interface:
                return int(numbers.split()[8])
        return 0

    def stop(self):
        self._over.set()
        self._thread.join()
        return self.samples
