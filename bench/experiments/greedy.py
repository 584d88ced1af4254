# SPDX-License-Identifier: LGPL-3.0-or-later
"""greedy (CA-NFS §2.2, read-ahead): A reads at random, 8 KB, one at a time, from a cold disk; B is a client whose read-ahead is
15 MiB, as kernels before 5.4 had it and tuning guides still ask for, and whose processes

stream   read a file each, in sequence, at full speed: all that is read ahead is wanted, and soon
paced    read a file each, in sequence, at 2.5 MB/s: all is wanted, but not yet
records  open a file, read 1 MB in sequence somewhere in it and close it: most of what is read ahead is never wanted

alone               A only
stock               the kernel and Ganesha
best-static         the same, B's read_ahead_kb searched for this very case
canfs-prefetch-off  canfs, of which the server reads nothing ahead and keeps the kernel's order: what the agent's auction does
canfs               canfs as it ships"""

import json
import time
from dataclasses import dataclass, replace

from bench.experiments import best_static, canfs
from bench.experiments.figure import COUNTERS, Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.lab import MOUNT_POINT, Guest, Lab
from bench.lab.report import Results

NAME = "greedy"
HELP = "a reader at random beside a client that reads far ahead (CA-NFS §2.2)"
READ_AHEAD_KIB = 15360  # 15 x rsize
READER_MIB, GREEDY_MIB = 256, 1024
SEED = 7
BLOCK_KIB = 64
PROCESSES = 4
TIMEOUT_SECONDS = 240
COLD_SHARE = 0.9  # of A's reads at the disk, or the server's cache has answered the rest
PREFETCH_OFF = {"Prefetch": "false"}
SERVERS = {"canfs-prefetch-off": PREFETCH_OFF, "canfs": {}}  # of the CANFS block; the other variants' is stock
VARIANTS = ("alone", "stock", "best-static", *SERVERS)
UNITS = {"ops_per_s": "1/s", "p50": "ms", "p99": "ms", "throughput": "MB/s", "bytes_per_byte": "1", "read_ahead": "KiB"}

# $1: file, $2: seconds, $3: of the records, one every 8 MB; $4: seed. Prints as canfs-job-read does.
RECORDS = """
RANDOM=$4 SECONDS=0 ops=()
for ((i = 0; i < $2; i++)); do ops[i]=0; done
while ((SECONDS < $2)); do
	dd if="$1" of=/dev/null bs=64k count=16 skip=$((RANDOM % $3 * 128)) status=none || exit
	((ops[SECONDS] += 16))
done
IFS=,
echo "{\\"ops_series\\": [${ops[*]:0:$2}]}"
"""


def sequential(*options):
    def command(lab, plan, number):
        return (lab.program("canfs-job-read"), "--sequential", "--block-kib", BLOCK_KIB, *options, "--phases",
                f"0-{plan.seconds}", lab.on_mount(f"greedy-{number}"))
    return command


def records(lab, plan, number):
    return ("bash", "-c", RECORDS, "bash", lab.on_mount(f"greedy-{number}"), plan.seconds, plan.greedy_mb // 8, SEED + number)


# {case: (what its rows begin with, (lab, plan, number of the process): its command)}
CASES = {"stream": ("", sequential()), "paced": ("paced-", sequential("--rate", 40)), "records": ("records-", records)}
ASKED = (Asked("p99", "at most", 1.5, "alone"),)


@dataclass(frozen=True)
class Plan:
    data_mb: int
    greedy_mb: int  # of each of the greedy processes' files: more than it can read
    warm_up: int    # seconds, not counted
    seconds: int    # with them
    levels: dict    # of the search


FULL = Plan(4000, 2000, 4, 16, {"read_ahead_kib": best_static.LEVELS["read_ahead_kib"]})
QUICK = replace(FULL, data_mb=2000, greedy_mb=1000, warm_up=1, seconds=4, levels={"read_ahead_kib": (64,)})


@dataclass
class Trial:
    """One run of one case and variant, with all that was seen."""
    case: str
    variant: str
    setting: str
    values: dict    # {row: {metric: value}}
    reader: dict
    greedy: list    # what each process printed
    disk: dict
    prices: list
    prefetch: dict  # what canfsctl server prefetch says; {}: the server reads nothing ahead
    agents: dict    # guest: what its agent logged


class GreedyResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.quick = options.quick
        self.settings = {}  # case: the best static one

    def add_trial(self, trial, variant):
        for row, metrics in trial.values.items():
            for metric, value in metrics.items():
                self.add(row, self.disk.name, variant, metric, UNITS[metric], value)

    def table(self):
        lines = [super().table(), "", *(f"{case}: best-static is {setting}" for case, setting in self.settings.items())]
        return "\n".join([*lines, *verdicts(self, ASKED, [prefix + "reader" for prefix, _ in CASES.values()], self.quick)])


@dataclass
class Greedy:
    """B, while it works."""
    lab: Lab
    plan: Plan
    client: object
    jobs: list
    asked: int = 0

    def ask(self, *command):
        self.asked += 1
        return self.client.run(f"ask-{self.asked}", *command).wait(TIMEOUT_SECONDS)

    def counters(self):
        return json.loads(self.ask(COUNTERS, MOUNT_POINT))

    def read_ahead_kib(self):
        return int(self.ask("sh", "-c", f"cat /sys/class/bdi/$(mountpoint -d {MOUNT_POINT})/read_ahead_kb"))

    def values(self, said, before, after):
        blocks = sum(sum(job["ops_series"][self.plan.warm_up:]) for job in said)
        return {"throughput": blocks * BLOCK_KIB * 1024 / 1e6 / (self.plan.seconds - self.plan.warm_up),
                "bytes_per_byte": (after["fetched_bytes"] - before["fetched_bytes"]) /
                                  (after["read_bytes"] - before["read_bytes"])}


def work(lab, plan, case, clients):
    """({row: {metric: value}}, what A printed, what B's processes printed)"""
    prefix, command = CASES[case]
    a, *others = clients
    reader = a.prepare("read", lab.program("canfs-job-read"), "--direct", "--phases", f"{plan.warm_up}-{plan.seconds}", "--seed",
                       SEED, lab.on_mount("data"))
    greedy = [Greedy(lab, plan, b, [b.prepare(f"greedy-{n}", *command(lab, plan, n)) for n in range(PROCESSES)]) for b in others]
    before = [b.counters() for b in greedy]
    launch([reader, *(job for b in greedy for job in b.jobs)])
    time.sleep(plan.seconds - 0.5)
    read_ahead = [b.read_ahead_kib() for b in greedy]
    seen = reader.result(TIMEOUT_SECONDS)
    values, said = {prefix + "reader": {"ops_per_s": seen["ops_per_s"], "p50": seen["p50_ms"], "p99": seen["p99_ms"]}}, []
    for b, first, kib in zip(greedy, before, read_ahead):
        said = [job.result(TIMEOUT_SECONDS) for job in b.jobs]
        values[prefix + "greedy"] = b.values(said, first, b.counters()) | {"read_ahead": kib}
    return values, seen, said


def run_trial(lab, plan, case, variant, setting, options):
    server = SERVERS.get(variant)
    priced = server is not None
    try:
        canfs.start_server(lab, priced, options, server)
        clients = lab.start_clients([Guest("a", READER_MIB), *([Guest("b", GREEDY_MIB)] if variant != "alone" else [])])
        for client in clients:
            for number, command in enumerate(setting.commands()):
                client.run(f"set-{number}", *command).wait(TIMEOUT_SECONDS)
        agents = canfs.start_agents(lab, clients, options.agent) if priced else []
        lab.disk.cold()
        watch = canfs.PriceWatch(lab) if priced else None
        values, reader, greedy = work(lab, plan, case, clients)
        return Trial(case, variant, str(setting), values, reader, greedy, lab.disk.stat(), watch.stop() if watch else [],
                     canfs.ask_server(lab, "prefetch") if priced and server is not PREFETCH_OFF else {}, canfs.stop_agents(agents))
    finally:
        lab.end_trial()


def summary(trial):
    text = "; ".join(f"{row}: " + ", ".join(f"{metric} {value:.4g}" for metric, value in metrics.items())
                     for row, metrics in trial.values.items())
    if trial.disk["reads"] - trial.disk["buffer_hits"] < COLD_SHARE * trial.reader["ops"]:
        text += " (warning: the server's cache answered part of A's reads)"
    return text


@dataclass
class Runner:
    lab: Lab
    plan: Plan
    options: Options
    say: object
    keep: object
    results: GreedyResults

    def trial(self, case, variant, setting, label):
        trial = run_trial(self.lab, self.plan, case, variant, setting, self.options)
        self.say(f"{label}, {case}, {variant}, {trial.setting}: {summary(trial)}")
        if self.keep:
            self.keep(trial)
        return trial

    def search(self, case):
        """For what is asked for: A's p99."""
        row = CASES[case][0] + "reader"
        self.results.settings[case], _ = best_static.search(
            self.plan.levels, ("read_ahead_kib",), lambda setting: self.trial(case, "best-static", setting, "search"),
            lambda trial: trial.values[row]["p99"], self.say)

    def run(self, cases, variants):
        greedy = best_static.Setting(read_ahead_kib=READ_AHEAD_KIB)
        for number in range(self.options.runs):
            for case in cases:
                for variant in variants:
                    if variant == "best-static" and case not in self.results.settings:
                        self.search(case)
                    setting = self.results.settings[case] if variant == "best-static" else greedy
                    label = f"run {number + 1} of {self.options.runs}"
                    self.results.add_trial(self.trial(case, variant, setting, label), variant)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, list(CASES))
    check_names("variant", options.variants, VARIANTS)
    plan, results = QUICK if options.quick else FULL, GreedyResults(options)
    say(f"setting up: {options.disk.describe()}, files")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.write_file("data", plan.data_mb)
        for number in range(PROCESSES):
            lab.disk.write_file(f"greedy-{number}", plan.greedy_mb)
        Runner(lab, plan, options, say, keep, results).run(
            [case for case in CASES if not options.cases or case in options.cases],
            [variant for variant in VARIANTS if not options.variants or variant in options.variants])
    return results
