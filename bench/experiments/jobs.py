# SPDX-License-Identifier: LGPL-3.0-or-later
"""jobs (CA-NFS §5, low-priority jobs): A reads at random, 8 KB, one at a time, busy for 8 s and idle for 8 s by turns; B runs a job that
nobody waits for, as it is or by `canfsctl run`.

backup       dd of a file of 4 GB, with O_DIRECT: large reads in sequence, nothing of which is in the background
backup-tree  tar of 50,000 small files, half of them below 5 KB
make         make -j4 of a source tree: reads, writes, and close() of each object

    A   |######|      |######|      |######|      until the job has ended
    B   |===..===========....=========.....==|    `seconds`

alone  A without a job, for some of its phases: of no case in particular, so once a run
stock  the kernel and Ganesha; the job as it is
canfs  CANFS with a price service; the job by `canfsctl run`; no agents

A case has the reader's figures, in its busy phases. CASE-job has the job's seconds beside the reader, CASE-job-alone those without it. All
files are made before, and not cached."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.experiments import canfs
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.experiments.reading import warning
from bench.lab import lab as laboratory, source_tree
from bench.lab.client import launch
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "jobs"
HELP = "a random reader beside a backup, tar or make under canfsctl run (CA-NFS §5)"
RUNS = 3
SERVER_OPTIONS = {"Price_Port": 20590}
GUEST_MIB = 512
SEED = 7
PHASES_MAX, SECONDS_MAX = 128, 3600  # of canfs-job-read
TIMEOUT_SECONDS = 1800
COLD_SHARE = 0.9  # of the alone reader's reads at the disk, or the server's cache has answered the rest
UNITS = {"ops_per_s": "1/s", "p50": "ms", "p99": "ms", "seconds": "s"}
VARIANTS = ("alone", "stock", "canfs")
PARTS = ("beside", "job-alone")  # of all but the first
TIMED = 'begin=$EPOCHREALTIME; "$@" >&2 || exit; echo "[$begin, $EPOCHREALTIME]"'
# tar itself reads nothing if its output is /dev/null.
TAR = 'set -o pipefail; tar -cf - -C "$1" . | cat >/dev/null'


@dataclass(frozen=True)
class Plan:
    data_mb: int
    backup_mb: int
    tree_files: int
    source: source_tree.Size
    busy: int           # seconds
    idle: int
    alone_phases: int


FULL = Plan(4000, 4000, 50_000, source_tree.Size(6400, 320), 8, 8, 4)
QUICK = replace(FULL, data_mb=2000, backup_mb=200, tree_files=500, source=source_tree.Size(60, 4), busy=2, idle=2, alone_phases=2)


@dataclass(frozen=True)
class Work:
    make: Callable     # (directory or file, plan): what it reads, on the server
    command: Callable  # (its path on the client): what B runs


def make_backup(disk, name, plan):
    disk.write_file(name, plan.backup_mb)


def make_tree(disk, name, plan):
    """Zeros, which cost the modelled disk no memory."""
    for number, length in enumerate(source_tree.sizes(plan.tree_files, SEED)):
        directory = number // source_tree.FILES_EACH
        path = disk.mount / name / str(directory // source_tree.SUBDIRECTORIES_EACH) / str(directory % source_tree.SUBDIRECTORIES_EACH)
        path.mkdir(parents=True, exist_ok=True)
        (path / str(number)).write_bytes(bytes(length))


def make_source(disk, name, plan):
    for file, body in source_tree.files(plan.source, SEED):
        path = disk.mount / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body, encoding="ascii")


# The host's /tmp is no place for a guest's compiler.
WORK = {"backup": Work(make_backup, lambda path: ("dd", f"if={path}", "of=/dev/null", "bs=1M", "iflag=direct", "status=none")),
        "backup-tree": Work(make_tree, lambda path: ("bash", "-c", TAR, "bash", path)),
        "make": Work(make_source, lambda path: ("env", "TMPDIR=/run", "HOME=/run", "make", "-s", "-j4", "-C", path))}
ASKED = (Asked("p99", "at most", 1.25, "alone"), Asked("ops_per_s", "at least", 0.95, "alone"),
         *(asked for case in WORK for asked in (
             Asked("seconds", "at most", 1.1, "stock", case=f"{case}-job-alone"),
             Asked("seconds", "at most", 2.3, "stock", case=f"{case}-job", of_case=f"{case}-job-alone"))))


@dataclass
class Trial:
    """One run of one case, variant and part, with all that was seen."""
    case: str       # "": the reader alone
    variant: str
    part: str
    reader: dict    # what it printed; {}: there was none
    seconds: float  # of the job; None: there was none
    said: str       # by the job, and canfsctl run
    disk: dict
    prices: list


class JobsResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.quick = options.quick

    def add_trial(self, trial, cases):
        """cases: for which the reader alone counts."""
        for case in cases if trial.variant == "alone" else (trial.case,) if trial.reader else ():
            for metric, value in (("ops_per_s", trial.reader["ops_per_s"]), ("p50", trial.reader["p50_ms"]),
                                  ("p99", trial.reader["p99_ms"])):
                self.add(case, self.disk.name, trial.variant, metric, UNITS[metric], value)
        if trial.seconds is not None:
            case = f"{trial.case}-job-alone" if trial.part == "job-alone" else f"{trial.case}-job"
            self.add(case, self.disk.name, trial.variant, "seconds", UNITS["seconds"], trial.seconds)

    def table(self):
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        return "\n".join([super().table(), "", *verdicts(self, ASKED, cases, self.quick)])


def what_is_missing():
    missing = [program for program in ("gcc", "make") if not shutil.which(program)]
    return laboratory.what_is_missing() or (f"{missing[0]} is not installed (bench/setup installs it)" if missing else None)


def phases(plan, count=None):
    """Of the reader; count: None: as many as it takes."""
    period = plan.busy + plan.idle
    begins = range(0, SECONDS_MAX - plan.busy, period)[:count or PHASES_MAX]
    return ",".join(f"{begin}-{begin + plan.busy}" for begin in begins)


def prepare_reader(lab, plan, client, count):
    return client.prepare("read", lab.program("canfs-job-read"), "--direct", "--phases", phases(plan, count), "--seed", SEED,
                          lab.on_mount("data"))


def prepare_job(lab, client, case, variant):
    """With control groups, as a client of today has them: a guest mounts none by itself."""
    client.run("cgroups", "mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup").wait(TIMEOUT_SECONDS)
    words = (lab.program("canfsctl"), "run", "-v", "--") if variant == "canfs" else ()
    return client.prepare("job", "bash", "-c", TIMED, "bash", *words, *WORK[case].command(lab.on_mount(case)))


def run_job(job, reader):
    """Its seconds; the reader ends with it, after some of its phases."""
    begin, end = job.result(TIMEOUT_SECONDS)
    if reader:
        reader.signal("TERM")
    return end - begin


def run_trial(lab, plan, case, variant, part, options):
    priced = variant == "canfs"
    try:
        canfs.start_server(lab, priced, options, SERVER_OPTIONS)
        clients = {client.name: client for client in lab.start_clients(
            [Guest("reader", GUEST_MIB)] * (part != "job-alone") + [Guest("job", GUEST_MIB)] * bool(case))}
        job = prepare_job(lab, clients["job"], case, variant) if case else None
        reader = prepare_reader(lab, plan, clients["reader"], None if case else plan.alone_phases) if "reader" in clients else None
        lab.disk.cold()
        watch = canfs.PriceWatch(lab) if priced else None
        launch([started for started in (reader, job) if started])
        seconds = run_job(job, reader) if job else None
        seen = reader.result(TIMEOUT_SECONDS) if reader else {}
        return Trial(case, variant, part, seen, seconds, job.errors() if job else "", lab.disk.stat(), watch.stop() if watch else [])
    finally:
        lab.end_trial()
        for path in (lab.disk.mount / "make").rglob("*.o"):
            path.unlink()


def summary(trial):
    parts = []
    if trial.reader:
        parts.append("reader {ops_per_s:.0f} ops/s, p99 {p99_ms:.1f} ms".format(**trial.reader))
    if trial.seconds is not None:
        parts.append(f"job {trial.seconds:.1f} s")
    if trial.variant == "alone" and trial.disk["reads"] - trial.disk["buffer_hits"] < COLD_SHARE * trial.reader["ops"]:
        parts.append("(warning: the server's cache answered part of the reader's reads)")
    return "; ".join(parts) + warning(trial.disk)


def trials_of(cases, variants):
    """(case, variant, part) of one run, what is to be compared one after the other."""
    alone = [("", "alone", "reader-alone")] if "alone" in variants else []
    return alone + [(case, variant, part) for case in cases for part in PARTS for variant in variants if variant != "alone"]


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, list(WORK))
    check_names("variant", options.variants, VARIANTS)
    cases = [case for case in WORK if not options.cases or case in options.cases]
    variants = [variant for variant in VARIANTS if variant in (options.variants or VARIANTS)]
    plan, results = QUICK if options.quick else FULL, JobsResults(options)
    say(f"setting up: {options.disk.describe()}, files")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.write_file("data", plan.data_mb)
        for case in cases:
            WORK[case].make(lab.disk, case, plan)
        for number in range(options.runs):
            for case, variant, part in trials_of(cases, variants):
                trial = run_trial(lab, plan, case, variant, part, options)
                say(f"run {number + 1} of {options.runs}, {case or 'no job'}, {variant}, {part}: {summary(trial)}")
                results.add_trial(trial, cases)
                if keep:
                    keep(trial)
    return results
