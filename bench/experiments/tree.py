# SPDX-License-Identifier: LGPL-3.0-or-later
"""tree: what developers do with a source tree on the mount, by 1, 4 and 8 clients.

untar   tar -xf of a tarball on the client's own disk
make    make -j4 in it: the C files among its files, to objects beside them
remove  rm -r of it
clone   git clone of a bare repository, which is on the mount as well: hard links of its pack, then a checkout

A client has 2000 files of its own, eight have 16,000: with each file's close the client waits for the disk, 30 ms alone and 130 ms beside
seven others, so that a tree of 40,000 files would take one client 20 minutes a step, and eight an hour and a half.
Clients begin each step at one moment; `seconds` are those of the last. Caches are dropped before the first step: users of make do not.

Variants: stock and canfs, in turn, each on a new file system."""

import shutil
import time
from dataclasses import dataclass

from bench.experiments import canfs
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.experiments.reading import warning
from bench.lab import lab as laboratory, source_tree
from bench.lab.client import launch
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "tree"
HELP = "untar, make, rm -r and git clone of a source tree, by 1, 4 and 8 clients"
RUNS = 3
VARIANTS = ("stock", "canfs")
COUNTS = (1, 4, 8)
# Of a client's share of the tree: $1 is its directory, $2 the tarball, $3 the repository. What gcc and git know of the host must not
# matter, and /tmp is the host's.
STEPS = {
    "untar": 'mkdir "$1" && tar -xf "$2" -C "$1"',
    "make": 'make -s -j4 -C "$1/source"',
    "remove": 'rm -r "$1/source"',
    "clone": 'git clone --quiet "$3" "$1/clone"',
}
TIMED = """export TMPDIR=/run HOME=/run GIT_CONFIG_NOSYSTEM=1
set -e; begin=$EPOCHREALTIME; {}; echo "[$begin, $EPOCHREALTIME]" """
GUEST_MIB = 512
TIMEOUT_SECONDS = 1800
ASKED = (Asked("seconds", "at most", round(1 / 0.97, 3), "stock"),)
FULL = source_tree.Size(2000, 80)  # a client
QUICK = source_tree.Size(60, 4)
QUICK_COUNTS = (1, 4)


@dataclass
class Trial:
    """One run of one number of clients and variant, with all that was seen."""
    clients: int
    device: str
    variant: str
    seconds: dict  # {step: of each client}
    disk: dict     # {step: the disk's counters, from its beginning to its end}
    agents: dict


class TreeResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.options = options

    def add_trial(self, trial):
        for step, seconds in trial.seconds.items():
            case = case_name(step, trial.clients)
            if not self.options.cases or case in self.options.cases:
                self.add(case, self.disk.name, trial.variant, "seconds", "s", max(seconds))

    def table(self):
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        return "\n".join([super().table(), "", *verdicts(self, ASKED, cases, self.options.quick)])


def case_name(step, clients):
    return f"{step}-clients-{clients}"


def what_is_missing():
    missing = [program for program in ("git", "gcc", "make") if not shutil.which(program)]
    return laboratory.what_is_missing() or (f"{missing[0]} is not installed (bench/setup installs it)" if missing else None)


def steps_of(clients, cases):
    """Those that are asked for, and what must be done before them."""
    wanted = [number for number, step in enumerate(STEPS) if not cases or case_name(step, clients) in cases]
    return list(STEPS)[:max(wanted, default=-1) + 1]


def make_parts(lab, count, size):
    for number in range(count):
        directory = part(lab, number)
        directory.mkdir()
        source_tree.make(directory, size, seed=number)


def part(lab, number):
    return lab.directory / f"part-{number}"


def reset(lab, clients):
    """A new file system with the repositories: where files come to lie on one that was used depends on what was there."""
    lab.disk.make_file_system()
    for number in range(clients):
        shutil.copytree(part(lab, number) / "source.git", lab.disk.mount / f"{number}.git")


def do_step(lab, clients, step, steps=STEPS):
    """Seconds that it took each client."""
    jobs = [client.prepare(step, "bash", "-c", TIMED.format(steps[step]), "bash", lab.on_mount(f"work-{number}"),
                           part(lab, number) / "source.tar.gz", lab.on_mount(f"{number}.git"))
            for number, client in enumerate(clients)]
    launch(jobs)
    times = [job.result(TIMEOUT_SECONDS) for job in jobs]
    return [end - begin for begin, end in times]


def run_trial(lab, count, variant, options):
    priced = variant == "canfs"
    try:
        reset(lab, count)
        canfs.start_server(lab, priced, options)
        clients = lab.start_clients([Guest(f"c{number}", GUEST_MIB) for number in range(count)])
        lab.disk.cold()
        agents = canfs.start_agents(lab, clients, options.agent) if priced else []
        seconds, disk = {}, {}
        for step in steps_of(count, options.cases):
            lab.disk.model_on("reset")
            seconds[step] = do_step(lab, clients, step)
            disk[step] = lab.disk.stat()
        lab.disk.control("mode=free")
        return Trial(count, options.disk.name, variant, seconds, disk, canfs.stop_agents(agents))
    finally:
        lab.end_trial()


def summary(trial):
    return ", ".join(f"{step} {max(seconds):.1f} s{warning(trial.disk[step])}" for step, seconds in trial.seconds.items())


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, [case_name(step, count) for count in COUNTS for step in STEPS])
    check_names("variant", options.variants, VARIANTS)
    counts = [count for count in (QUICK_COUNTS if options.quick else COUNTS) if steps_of(count, options.cases)]
    variants = [variant for variant in VARIANTS if not options.variants or variant in options.variants]
    results = TreeResults(options)
    say(f"setting up: {options.disk.describe()}, source trees")
    with Lab(build, disk=options.disk) as lab:
        make_parts(lab, max(counts, default=0), QUICK if options.quick else FULL)
        begin = time.monotonic()
        total, done = options.runs * sum(counts) * len(variants), 0
        for number in range(options.runs):
            for count in counts:
                for variant in options.in_turn(variants, number):
                    trial = run_trial(lab, count, variant, options)
                    done += count
                    left = (time.monotonic() - begin) / done * (total - done)
                    say(f"run {number + 1} of {options.runs}, {count} clients, {variant}: {summary(trial)} ({left / 60:.0f} min left)")
                    results.add_trial(trial)
                    if keep:
                        keep(trial)
    return results
