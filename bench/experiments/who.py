# SPDX-License-Identifier: LGPL-3.0-or-later
"""who: does the server name the client that makes the others wait? Eight clients read at random, 8 KB, a few times a second; one of them,
another one each time, runs a job besides:

write-back   writes a large file
scan         reads a large file with O_DIRECT, 1 MB at a time
fsync        eight threads that write 4 KB and fsync
read-ahead   reads a large file through its page cache

    all  |.  .   .  .   .  .   .  .  .   .  .|      each shuffle: a client and a job
    one       |####################|
    asked       w   w   w   w   w               `canfsctl server who` about the second before, each second

bully-KIND has the share of the seconds with load in which the bully that waited most for is the one that runs the job. The cost of an
operation is that of `bench/run micro`: canfs_client_operation."""

import json
import random
import time
from dataclasses import dataclass, field, replace

from bench.experiments import canfs
from bench.experiments.options import Options, check_names
from bench.lab import lab as laboratory
from bench.lab.host import LabError, run as run_command
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "who"
HELP = "one client makes seven others wait: does the server name it?"
RUNS = 1
SEED = 7
GUEST_MIB = 256
ASKED = 0.95  # of the windows
LOAD_SECONDS = 0.1  # a second in which all together waited less has no load
TIMEOUT_SECONDS = 60
SYNC = """
import os, sys, threading, time
path, seconds = sys.argv[1], float(sys.argv[2])
def storm(number):
    file = os.open(f"{path}-{number}", os.O_CREAT | os.O_WRONLY)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.pwrite(file, b"x" * 4096, 0)
        os.fsync(file)
threads = [threading.Thread(target=storm, args=(n,)) for n in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
"""


@dataclass(frozen=True)
class Plan:
    clients: int
    shuffles: int
    seconds: int    # of the bully's job
    data_mb: int    # that all read at random
    scan_mb: int
    rate: float     # reads of each client, 1/s


FULL = Plan(8, 20, 15, 4000, 4000, 4)
QUICK = replace(FULL, shuffles=4, seconds=7, data_mb=2000, scan_mb=2000)


def write_back(lab, plan, client):
    return (lab.program("canfs-job-write"), "--mb", 100_000, "--seconds", plan.seconds, lab.on_mount(f"out-{client.name}"))


def scan(lab, plan, _):
    return (lab.program("canfs-job-read"), "--direct", "--sequential", "--block-kib", 1024, "--threads", 2, "--phases",
            f"0-{plan.seconds}", lab.on_mount("scan"))


def fsync(lab, plan, client):
    return ("python3", "-c", SYNC, lab.on_mount(f"sync-{client.name}"), plan.seconds)


def read_ahead(lab, plan, _):
    return (lab.program("canfs-job-read"), "--sequential", "--block-kib", 64, "--phases", f"0-{plan.seconds}", lab.on_mount("scan"))


KINDS = {"write-back": write_back, "scan": scan, "fsync": fsync, "read-ahead": read_ahead}


@dataclass
class Trial:
    """One shuffle, with all that was seen."""
    kind: str
    bully: str
    windows: list = field(default_factory=list)  # replies of the server

    def named(self):
        """Of each window with load: the bully, as the server names it."""
        return [window["bullies"][0]["bully"] for window in self.windows if window["waited"] >= LOAD_SECONDS]

    def rightly(self):
        return [name == self.bully for name in self.named()]

    def summary(self):
        right = self.rightly()
        waited = [window["waited"] for window in self.windows]
        return f"{sum(right)} of {len(right)} windows; {min(waited):.1f} ... {max(waited):.1f} s waited a second"


def what_is_missing():
    return laboratory.what_is_missing()


def shuffles(plan, kinds, runs):
    """(client, kind): each kind as often, in any order."""
    rng = random.Random(SEED)
    chosen = [kinds[number % len(kinds)] for number in range(runs * plan.shuffles)]
    rng.shuffle(chosen)
    return [(rng.randrange(plan.clients), kind) for kind in chosen]


def start_readers(lab, plan, clients):
    """They go on to the end."""
    return [client.run("read", lab.program("canfs-job-read"), "--direct", "--rate", plan.rate, "--phases", "0-3600", "--seed", SEED + number,
                       lab.on_mount("data")) for number, client in enumerate(clients)]


def watch(lab, trial, plan, job):
    """From the second second of the job to its last but one."""
    begin = time.monotonic()
    time.sleep(2.5)
    while not job.is_done() and time.monotonic() - begin < plan.seconds - 0.5:
        next_one = time.monotonic() + 1
        trial.windows.append(canfs.ask_server(lab, "who", "--seconds=1"))
        time.sleep(max(next_one - time.monotonic(), 0))


def run_shuffle(lab, plan, number, client, kind):
    trial = Trial(kind, client.network.guest_address(client.index))
    lab.disk.cold()
    time.sleep(2)  # whatever the last one has left behind is over by then
    job = client.run(f"bully-{number}", *KINDS[kind](lab, plan, client))
    watch(lab, trial, plan, job)
    job.wait(TIMEOUT_SECONDS)
    for name in (f"out-{client.name}", *(f"sync-{client.name}-{n}" for n in range(8))):
        (lab.disk.mount / name).unlink(missing_ok=True)
    return trial


def measure_cost(lab, options):
    """Nanoseconds of an operation: what `bench/run micro` says of it."""
    seconds = 0.02 if options.quick else 0.1
    return json.loads(run_command(lab.program("canfs-micro"), 5, seconds, timeout=300))["canfs_client_operation"]


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases = [f"bully-{kind}" for kind in KINDS]
    check_names("case", options.cases, cases)
    check_names("variant", options.variants, ("canfs",))
    kinds = [kind for kind in KINDS if not options.cases or f"bully-{kind}" in options.cases]
    plan = QUICK if options.quick else FULL
    results = Results(NAME, options.disk)
    right = {kind: [] for kind in kinds}
    say(f"setting up: network, {options.disk.describe()}, {plan.data_mb + plan.scan_mb} MB of files, {plan.clients} clients")
    with Lab(build, disk=options.disk) as lab:
        for value in measure_cost(lab, options):
            results.add("operation", "none", "canfs", "ns_per_op", "ns", value)
        lab.disk.write_file("data", plan.data_mb)
        lab.disk.write_file("scan", plan.scan_mb)
        canfs.start_server(lab, True, options)
        clients = lab.start_clients([Guest(f"g{number}", GUEST_MIB) for number in range(plan.clients)])
        start_readers(lab, plan, clients)
        for number, (index, kind) in enumerate(shuffles(plan, kinds, options.runs)):
            trial = run_shuffle(lab, plan, number, clients[index], kind)
            say(f"shuffle {number + 1}: {kind} by {trial.bully}: {trial.summary()}")
            right[kind] += trial.rightly()
            if keep:
                keep(trial)
        lab.end_trial()
    for kind, windows in right.items():
        if not windows:
            raise LabError(f"bully-{kind}: no window with load")
        results.add(f"bully-{kind}", options.disk.name, "canfs", "named_rightly", "share", sum(windows) / len(windows))
    return results
