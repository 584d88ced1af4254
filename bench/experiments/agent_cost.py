# SPDX-License-Identifier: LGPL-3.0-or-later
"""agent-cost: what the agent costs its client: processor and memory, with ten mounts, alone and among 1,000
processes that have 10,000 files open; while nothing happens, while a writer's data is sent at once, and while
it is held back.

A guest's system calls are several times as dear as a real machine's (User-Mode Linux), so the shares of a
processor are an upper bound."""

import time
from dataclasses import dataclass, field

from bench.experiments import canfs
from bench.lab.client import MOUNT_OPTIONS, Client
from bench.lab.host import LabError, end, wait_for
from bench.lab.lab import MOUNT_POINT, Lab
from bench.lab.net import SERVER_ADDRESS
from bench.lab.report import Results

NAME = "agent-cost"
HELP = "processor and memory that the agent takes on a client with 10 mounts and 10,000 open files"
RUNS = 5
DEVICE = "none"
MOUNTS = 10
PROCESSES, FILES = 1000, 10
GUEST_MIB = 1024
WRITER_MB_PER_SEC = 20
PATIENCE_SECONDS = 120
GOAL_CPU_PCT = 0.3
GOAL_RSS_MIB = 8
# Only the disk decides: readers at it make it dear, and without them it costs nothing.
SERVER_OPTIONS = {"Monitors": "disk", "Disk_Read_Queue": 1, "Disk_Write_Queue": 4096}
READERS = 3
READ_MB = 200
# In the guest: what its agent has used since it began, and holds.
LOOK = """
import json, os, pathlib
agent = next(p for p in pathlib.Path("/proc").glob("[0-9]*") if (p / "comm").read_text() == "canfs-agent\\n")
ticks = sum(map(int, (agent / "stat").read_text().rsplit(")", 1)[1].split()[11:13]))
status = dict(line.split(":", 1) for line in (agent / "status").read_text().splitlines())
print(json.dumps({"cpu_seconds": ticks / os.sysconf("SC_CLK_TCK"), "rss_mib": int(status["VmRSS"].split()[0]) / 1024,
                  "uptime": float(pathlib.Path("/proc/uptime").read_text().split()[0])}))
"""


@dataclass
class Options:
    """What a person may vary; the defaults are the experiment."""
    runs: int = RUNS
    quick: bool = False
    cases: tuple = ()
    variants: tuple = ()   # not used
    agent: dict = field(default_factory=dict)
    server: dict = field(default_factory=dict)  # the CANFS { } block

    def seconds(self):
        return 8 if self.quick else 40


@dataclass
class Trial:
    case: str
    cpu_pct: float
    rss_mib: float


class Scene:
    """One client with its mounts and its agent."""

    def __init__(self, lab, options):
        self.lab, self.options = lab, options
        self.jobs = 0
        self.client = Client("a", lab.network, 0, lab.directory / "a", GUEST_MIB)
        lab.clients.append(self.client)
        # nosharecache: a super block each, and so a BDI each.
        self.client.boot([(f"{SERVER_ADDRESS}:{lab.disk.mount}", self.mount_point(number),
                           f"{MOUNT_OPTIONS['3']},nosharecache") for number in range(MOUNTS)])
        self.client.wait_ready()
        [self.agent] = canfs.start_agents(lab, [self.client], options.agent)

    @staticmethod
    def mount_point(number):
        return f"{MOUNT_POINT}/{number}"

    def run(self, *command):
        self.jobs += 1
        return self.client.run(f"job{self.jobs}", *command)

    def look(self):
        return self.run("python3", "-c", LOOK).result(PATIENCE_SECONDS)

    def measure(self, case):
        before = self.look()
        time.sleep(self.options.seconds())
        after = self.look()
        if self.agent.is_done():
            raise LabError(f"the agent ended by itself: {self.agent.errors()}")
        return Trial(case, 100 * (after["cpu_seconds"] - before["cpu_seconds"]) /
                     (after["uptime"] - before["uptime"]), after["rss_mib"])

    def crowd(self):
        ready = self.client.directory / "crowd.ready"
        job = self.run(self.lab.program("canfs-job-crowd"), "--processes", PROCESSES, "--files", FILES,
                       "--ready", ready, *(f"{self.mount_point(n)}/data" for n in range(MOUNTS)))

        def is_there():
            if job.is_done():
                job.wait(0)
            return ready.exists()
        wait_for(is_there, PATIENCE_SECONDS, "the crowd")
        return job

    def writer(self):
        """For as long as one measurement takes; its data would fill the client if it were held so long."""
        seconds = self.options.seconds() + 4
        job = self.run(self.lab.program("canfs-job-write"), "--mb", WRITER_MB_PER_SEC * seconds, "--rate-mb",
                       WRITER_MB_PER_SEC, f"{self.mount_point(0)}/out")
        time.sleep(2)
        return job


def measure_all(lab, scene, keep):
    for crowd in (False, True):
        job = scene.crowd() if crowd else None
        name = "crowd" if crowd else "few"
        keep(scene.measure(f"{name}-idle"))
        writer = scene.writer()
        keep(scene.measure(f"{name}-accelerate"))
        writer.wait(PATIENCE_SECONDS)
        lab.disk.control("mode=hdd")
        readers = [lab.spawn_beside_server(lab.program("canfs-job-read"), "--direct", "--seed", seed, "--phases",
                                           "0-1000", lab.disk.mount / "data") for seed in range(READERS)]
        writer = scene.writer()
        keep(scene.measure(f"{name}-defer"))
        for reader in readers:
            end(reader)
        lab.disk.control("mode=free")
        writer.wait(PATIENCE_SECONDS)
        if job:
            job.signal("TERM")
            job.wait(PATIENCE_SECONDS)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    results = Results(NAME)
    say(f"setting up: network, modelled disk, a client with {MOUNTS} mounts")
    with Lab(build) as lab:
        lab.disk.control("mode=free")
        lab.disk.write_file("data", READ_MB)
        for number in range(options.runs):
            lab.start_server("CANFS", SERVER_OPTIONS | options.server)
            scene = Scene(lab, options)

            def add(trial, number=number):
                say(f"run {number + 1} of {options.runs}, {trial.case}: {trial.cpu_pct:.2f} % of a processor "
                    f"(asked {GOAL_CPU_PCT}), {trial.rss_mib:.1f} MiB (asked {GOAL_RSS_MIB})")
                results.add(trial.case, DEVICE, "canfs", "cpu", "%", trial.cpu_pct)
                results.add(trial.case, DEVICE, "canfs", "rss", "MiB", trial.rss_mib)
                if keep:
                    keep(trial)
            measure_all(lab, scene, add)
            canfs.stop_agents([scene.agent])
            lab.stop_clients()
            lab.stop_server()
    return results
