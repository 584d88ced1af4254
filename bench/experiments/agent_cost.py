# SPDX-License-Identifier: LGPL-3.0-or-later
"""agent-cost: what the agent costs its client: processor and memory, with ten mounts, alone and among 1,000
processes that have 10,000 files open; while nothing happens, while a writer's data is sent at once, and while
it is held back. And what it costs a writer: the same writes with an agent and without, in turn.

The processor's time is taken on this machine's own kernel (bench/lab/native.py), the rest in a guest. What the
loop takes and what the helper takes are told apart: most of the latter is sending, which the kernel does itself
without an agent."""

import statistics
import subprocess
import time
from dataclasses import dataclass

from bench.experiments import canfs
from bench.experiments.options import Options as CommonOptions
from bench.lab.client import MOUNT_OPTIONS, Client
from bench.lab.host import end, wait_for
from bench.lab.lab import MOUNT_POINT, Lab
from bench.lab.native import NativeAgent
from bench.lab.net import SERVER_ADDRESS
from bench.lab.report import Results

NAME = "agent-cost"
HELP = "what the agent takes of a client with 10 mounts and 10,000 open files, and of its writers' time"
RUNS = 5
DEVICE = "none"
MOUNTS = 10
PROCESSES, FILES = 1000, 10
GUEST_MIB = 1024
WRITER_MB_PER_SEC = 20
TIMEOUT_SECONDS = 120
GOAL_CPU_PCT = {"idle": 0.05, "accelerate": 0.3, "defer": 0.3}  # the loop
GOAL_RSS_MIB = 8
GOAL_OVERHEAD_PCT = 2
OVERHEAD_MB = 64
# What becomes of the agent for a write. control is stopped once more: how far chance alone gets.
TURNS = {"running": "CONT", "stopped": "STOP", "control": "STOP"}
SETTLE_SECONDS = 0.3
# Only the disk decides: readers at it make it expensive, and without them it costs nothing.
SERVER_OPTIONS = {"Monitors": "disk", "Disk_Read_Queue": 1, "Disk_Write_Queue": 4096}
READERS = 3
READ_MB = 200


class Options(CommonOptions):
    def seconds(self):
        return 6 if self.quick else 40

    def rounds(self):
        return 9 if self.quick else 60


@dataclass
class Trial:
    case: str
    metric: str
    unit: str
    value: float
    goal: float = None


def crowd(lab, agent):
    ready = agent.directory / "crowd.ready"
    process = agent.spawn(lab.program("canfs-job-crowd"), "--processes", PROCESSES, "--files", FILES, "--ready",
                          ready, *(agent.point(number) / "data" for number in range(MOUNTS)))
    wait_for(ready.exists, TIMEOUT_SECONDS, "the crowd")
    return process


def start_writer(lab, agent, seconds):
    """For as long as one measurement takes."""
    process = agent.spawn(lab.program("canfs-job-write"), "--mb", WRITER_MB_PER_SEC * (seconds + 4), "--rate-mb",
                          WRITER_MB_PER_SEC, agent.point(0) / "out", stdout=subprocess.DEVNULL)
    time.sleep(2)
    return process


def measure(agent, case, seconds, keep):
    before, begin = agent.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - begin
    loop, helper = (100 * (b - a) / elapsed for a, b in zip(before, agent.cpu_seconds()))
    keep(Trial(case, "loop", "%", loop, GOAL_CPU_PCT[case.partition("-")[2]]))
    keep(Trial(case, "helper", "%", helper))
    keep(Trial(case, "rss", "MiB", agent.rss_mib(), GOAL_RSS_MIB))


def measure_cost(lab, options, keep):
    """On this kernel."""
    seconds = options.seconds()
    for crowded in (False, True):
        name = "crowd" if crowded else "few"
        with NativeAgent(lab, MOUNTS, options.agent) as agent:
            time.sleep(canfs.WARM_UP_SECONDS)
            others = crowd(lab, agent) if crowded else None
            measure(agent, f"{name}-idle", seconds, keep)
            writer = start_writer(lab, agent, seconds)
            measure(agent, f"{name}-accelerate", seconds, keep)
            writer.wait(TIMEOUT_SECONDS)
            lab.disk.model_on()
            readers = [lab.spawn_beside_server(lab.program("canfs-job-read"), "--direct", "--seed", seed, "--phases",
                                               "0-1000", lab.disk.mount / "data") for seed in range(READERS)]
            writer = start_writer(lab, agent, seconds)
            measure(agent, f"{name}-defer", seconds, keep)
            for process in (*readers, writer, others):
                end(process)
            lab.disk.control("mode=free")


def measure_overhead(lab, options, keep):
    """In a guest, on NFS: one agent, and write after write with it running or stopped (SIGSTOP), so that what else
    changes in a guest changes for both. What is sent while a file is written need not be sent when it is closed:
    the work is both."""
    client = Client("a", lab.network, 0, lab.directory / "a", GUEST_MIB)
    lab.clients.append(client)
    # nosharecache: a super block each, and so a BDI each.
    client.boot([(f"{SERVER_ADDRESS}:{lab.disk.mount}", f"{MOUNT_POINT}/{number}",
                  f"{MOUNT_OPTIONS['3']},nosharecache") for number in range(MOUNTS)])
    client.wait_ready()
    [agent] = canfs.start_agents(lab, [client], options.agent)
    works = {turn: [] for turn in TURNS}
    for number in range(options.rounds()):
        order = list(TURNS)
        for turn in order[number % 3:] + order[:number % 3]:
            agent.signal(TURNS[turn])
            time.sleep(SETTLE_SECONDS)
            job = client.run(f"write-{turn}-{number}", lab.program("canfs-job-write"), "--mb", OVERHEAD_MB,
                             f"{MOUNT_POINT}/0/overhead").result(TIMEOUT_SECONDS)
            works[turn].append(job["write_seconds"] + job["close_seconds"])
    agent.signal("CONT")
    time.sleep(SETTLE_SECONDS)
    canfs.stop_agents([agent])
    lab.stop_clients()

    def over_stopped_pct(turn):
        return 100 * (statistics.median(a / b for a, b in zip(works[turn], works["stopped"])) - 1)
    keep(Trial("writer", "overhead", "%", over_stopped_pct("running"), GOAL_OVERHEAD_PCT))
    keep(Trial("writer", "control", "%", over_stopped_pct("control")))


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    results = Results(NAME)
    say(f"setting up: network, modelled disk, a client with {MOUNTS} mounts")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.control("mode=free")
        lab.disk.write_file("data", READ_MB)
        for number in range(options.runs):
            def add(trial, number=number):
                asked = "" if trial.goal is None else f" (asked {trial.goal:g})"
                say(f"run {number + 1} of {options.runs}, {trial.case}: {trial.metric} {trial.value:.3f} {trial.unit}"
                    f"{asked}")
                results.add(trial.case, DEVICE, "canfs", trial.metric, trial.unit, trial.value)
                if keep:
                    keep(trial)
            for part in (measure_cost, measure_overhead):
                if options.cases and part.__name__.removeprefix("measure_") not in options.cases:
                    continue
                lab.start_server("CANFS", SERVER_OPTIONS | options.server)
                part(lab, options, add)
                lab.stop_server()
    return results
