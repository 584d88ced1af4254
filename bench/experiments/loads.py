# SPDX-License-Identifier: LGPL-3.0-or-later
"""loads: plain work of kernel clients, by fio and find: writing, random reads and writes, rewrites, logs, walks through a tree.

write-clients-N       each writes a new file in order, to its fsync
random-read, -write   8 KB of a file that no cache holds, 4 threads; writes to their fsync
random-rewrite        4 KB anywhere in a small file that stays in the client's cache, to the fsync
sequential-rewrite    a file in order, over what is there
log                   4 threads append 4 KB and wait for fsync each time
walk-cold, walk-warm  find and ls -lR of a tree

Variants: stock and canfs, in turn."""

import json
from dataclasses import dataclass

from bench.experiments import canfs
from bench.experiments.figure import Asked, AskedResults
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.reading import warning
from bench.experiments.rounds import chosen, run_rounds
from bench.lab.client import launch
from bench.lab.lab import Guest

NAME = "loads"
HELP = "plain work of kernel clients: writes, random I/O, rewrites, logs, walks"
RUNS = 5
VARIANTS = ("stock", "canfs")
GUEST_MIB = 512
TIMEOUT_SECONDS = 300
UNITS = {"throughput": "MB/s", "ops_per_s": "1/s", "p99": "ms", "seconds": "s"}
ASKED = (Asked("throughput", "at least", 0.97, "stock"), Asked("ops_per_s", "at least", 0.97, "stock"),
         Asked("p99", "at most", 1.15, "stock"), Asked("seconds", "at most", round(1 / 0.97, 3), "stock"))
DATA_MB, SMALL_MB = 1024, 64
TREE_FILES, TREE_EACH = 6000, 60
WALK = 'set -e; begin=$EPOCHREALTIME; find "$1" -printf "%s\\n" >/dev/null; ls -lR "$1" >/dev/null; echo "[$begin, $EPOCHREALTIME]"'


@dataclass(frozen=True)
class Load:
    fio: tuple = ()   # its options; none: the walk
    file: str = "out"
    clients: int = 1
    mib: int = None   # of all clients; None: for `seconds`
    seconds: int = 10
    warm: bool = False


RANDOM = ("--bs=8k", "--numjobs=4", "--group_reporting")
CASES = {
    **{f"write-clients-{n}": Load(("--rw=write", "--bs=128k"), clients=n, mib=768) for n in (1, 2, 4, 8)},
    "random-read": Load(("--rw=randread", *RANDOM), "data"),
    "random-write": Load(("--rw=randwrite", *RANDOM), "data"),
    "random-rewrite": Load(("--rw=randwrite", "--bs=4k"), "small", seconds=20),
    "sequential-rewrite": Load(("--rw=write", "--bs=128k"), "data", mib=512),
    "log": Load(("--rw=write", "--bs=4k", "--fsync=1", "--numjobs=4", "--group_reporting", "--filename_format=out-$jobnum"), None),
    "walk-cold": Load(),
    "walk-warm": Load(warm=True),
}


@dataclass
class Trial:
    case: str
    variant: str
    values: dict
    said: list
    disk: dict

    def __str__(self):
        return ", ".join(f"{metric} {value:.4g}" for metric, value in self.values.items()) + warning(self.disk)


def prepare(lab):
    lab.disk.control("mode=free")
    lab.disk.write_file("data", DATA_MB)
    lab.disk.write_file("small", SMALL_MB)
    for number in range(TREE_FILES):
        path = lab.disk.mount / "tree" / str(number // TREE_EACH) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (number % 4096))


def fio_command(lab, load, number, quick):
    where = (f"--filename={lab.on_mount(f'{load.file}-{number}' if load.file == 'out' else load.file)}",) if load.file else \
        (f"--directory={lab.on_mount('.')}",)
    share = 4 if quick else 1
    amount = (f"--size={load.mib // load.clients // share}m",) if load.mib else ("--time_based", f"--runtime={load.seconds / share}s")
    if not load.file:
        amount += (f"--size={SMALL_MB}m",)  # of what exists it is the file's: fio would write a larger one
    return ("fio", "--name=load", *where, *load.fio, *amount, "--ioengine=psync", "--thread", "--fallocate=none", "--invalidate=0",
            "--overwrite=0", "--end_fsync=1", "--fsync_on_close=1", "--randseed=7", "--output-format=json")


def values_of_fio(load, said):
    """The end of the slowest client counts; its fsync belongs to what was written."""
    jobs = [json.loads(text[text.index("{"):])["jobs"][0] for text in said]
    kind = "read" if "read" in load.fio[0] else "write"
    seconds = max(job["job_runtime"] for job in jobs) / 1e3
    seconds /= 4 if "--numjobs=4" in load.fio else 1  # the sum of its threads
    if load.mib:
        return {"throughput": sum(job[kind]["io_bytes"] for job in jobs) / 1e6 / seconds}
    values = {"ops_per_s": sum(job[kind]["total_ios"] for job in jobs) / seconds}
    if kind == "read" or "--fsync=1" in load.fio:
        latency = jobs[0]["sync"]["lat_ns"] if "--fsync=1" in load.fio else jobs[0][kind]["clat_ns"]
        values["p99"] = latency["percentile"]["99.000000"] / 1e6
    return values


def work(lab, clients, load, quick):
    if load.fio:
        jobs = [client.prepare("load", *fio_command(lab, load, number, quick)) for number, client in enumerate(clients)]
        launch(jobs)
        said = [job.wait(TIMEOUT_SECONDS) for job in jobs]
        return values_of_fio(load, said), said
    for attempt in range(2 if load.warm else 1):
        job = clients[0].prepare(f"walk-{attempt}", "bash", "-c", WALK, "bash", lab.on_mount("tree"))
        launch([job])
        begin, end = json.loads(job.wait(TIMEOUT_SECONDS))
    return {"seconds": end - begin}, []


def run_trial(lab, case, variant, options):
    load, priced = CASES[case], variant == "canfs"
    try:
        canfs.start_server(lab, priced, options)
        clients = lab.start_clients([Guest(f"c{number}", GUEST_MIB) for number in range(load.clients)])
        agents = canfs.start_agents(lab, clients, options.agent) if priced else []
        lab.disk.cold()
        values, said = work(lab, clients, load, options.quick)
        disk = lab.disk.stat()
        lab.disk.control("mode=free")
        canfs.stop_agents(agents)
        return Trial(case, variant, values, said, disk)
    finally:
        lab.disk.control("mode=free")
        lab.end_trial()
        for path in lab.disk.mount.glob("out*"):
            path.unlink()


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    return run_rounds(build, options, chosen("case", options.cases, CASES), chosen("variant", options.variants, VARIANTS),
                      lambda lab, number, case, variant: run_trial(lab, case, variant, options), AskedResults(NAME, options, UNITS, ASKED), say, keep, prepare)
