# SPDX-License-Identifier: LGPL-3.0-or-later
"""delegations: close() of a client that has write delegations, over NFSv4.1.

small-16, small-64  one client with 8 threads that create files of 16 and 64 KB
untar               one client unpacks 2000 files
untar-new           the same, and files are owned by who unpacks them and made now; with a sync at the end. Before a
                    SETATTR of owner or times Linux sends all of a file, and waits, delegation or not
PERSONALITY-clients-N  filebench's

stock        kernel and Ganesha defaults: VFS grants none
delegations  CANFS with Delegations, without agents

files_per_s, close_p99, flushes (of the disk, per second); seconds of untar; ops_per_s of filebench."""

from dataclasses import dataclass

from bench.experiments import best_static, canfs, filebench, filebench_trial, tree
from bench.experiments.figure import Asked, AskedResults
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.rounds import chosen, run_rounds
from bench.jobs import small_files
from bench.lab.client import launch
from bench.lab.filebench import program_for
from bench.lab.lab import Guest

NAME = "delegations"
HELP = "close() with write delegations: small files, untar, filebench"
RUNS = 3
OPTIONS = ("filebench",)  # options of bench/run that few experiments use
VARIANTS = ("stock", "delegations")
SMALL_KB = {"small-16": 16, "small-64": 64}
PERSONALITIES = ("fileserver-clients-1", "fileserver-clients-8", "fileserver-clients-23", "varmail-clients-8", "oltp-clients-8",
                 "webserver-clients-8")
UNTAR = {"untar": tree.STEPS["untar"],
         "untar-new": 'mkdir "$1" && tar -xmf "$2" --no-same-owner --no-same-permissions -C "$1" && sync -f "$1"'}
CASES = (*SMALL_KB, *UNTAR, *PERSONALITIES)
QUICK_CASES = (*SMALL_KB, *UNTAR)
GUEST_MIB = 512
THREADS = 8
SECONDS, QUICK_SECONDS = 20, 5
TIMEOUT_SECONDS = 120
UNITS = {"files_per_s": "1/s", "close_p99": "ms", "flushes": "1/s", "seconds": "s", "ops_per_s": "1/s"}
ASKED = (*(Asked("files_per_s", "at least", 3, "stock", case) for case in SMALL_KB),
         *(Asked("seconds", "at most", 0.5, "stock", case) for case in UNTAR),
         *(Asked("ops_per_s", "at least", least, "stock", case)
           for case, least in zip(PERSONALITIES, (1.6, 1.0, 1.0, 0.98, 0.98, 0.98))))


@dataclass
class Trial:
    case: str
    variant: str
    values: dict
    disk: dict

    def __str__(self):
        return ", ".join(f"{metric} {value:.3g}" for metric, value in self.values.items())


def start(lab, variant, options):
    canfs.start_server(lab, variant == "delegations", options, **canfs.DELEGATIONS)
    return lab.start_clients([Guest("a", GUEST_MIB, "4.1")])


def create_small(lab, case, variant, options):
    lab.disk.make_file_system()
    [client] = start(lab, variant, options)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    job = client.prepare("create", small_files.__file__, "create", lab.on_mount("a"), THREADS, seconds, 0, SMALL_KB[case] << 10)
    lab.disk.cold()
    launch([job])
    said = job.result(TIMEOUT_SECONDS)
    disk = lab.disk.stat()
    return Trial(case, variant, {"files_per_s": said["files"] / said["seconds"], "close_p99": said["close_p99_ms"],
                                 "flushes": disk["flushes"] / said["seconds"]}, disk)


def untar(lab, case, variant, options):
    tree.reset(lab, 1)
    clients = start(lab, variant, options)
    lab.disk.cold()
    [seconds] = tree.do_step(lab, clients, case, UNTAR)
    return Trial(case, variant, {"seconds": seconds}, lab.disk.stat())


def run_filebench(lab, case, variant, options):
    wanted = filebench.case_of(f"{case}-4.1")
    filebench_trial.prepare_disk(lab, wanted.personality)
    seconds = filebench.QUICK_SECONDS if options.quick else wanted.personality.seconds
    trial = filebench_trial.measure(lab, wanted, variant, best_static.STOCK, options, seconds, program_for(lab, options))
    return Trial(case, variant, {"ops_per_s": trial.metrics["ops_per_s"]}, trial.disk)


def run_trial(lab, case, variant, options):
    kinds = dict.fromkeys(SMALL_KB, create_small) | dict.fromkeys(UNTAR, untar)
    try:
        return kinds.get(case, run_filebench)(lab, case, variant, options)
    finally:
        lab.end_trial()


def what_is_missing():
    return tree.what_is_missing()


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases = chosen("case", options.cases or (QUICK_CASES if options.quick else ()), CASES)
    variants = chosen("variant", options.variants, VARIANTS)
    return run_rounds(build, options, cases, variants, lambda lab, _, case, variant: run_trial(lab, case, variant, options),
                      AskedResults(NAME, options, UNITS, ASKED), say, keep, lambda lab: tree.make_parts(lab, 1, tree.QUICK if options.quick else tree.FULL))
