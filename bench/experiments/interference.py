# SPDX-License-Identifier: LGPL-3.0-or-later
"""interference (CA-NFS §4.1.1 "Deferring writes", Figure 4): what one client's write-back does to
another client's reads.

held      A reads at random in two busy phases and is idle between them; B writes a file that fits
          what it may hold and keeps it open. Stock flushes into A's busy phase; canfs holds while
          the disk is expensive and drains while it is cheap.
overfull  B writes more than any client can hold, at full speed: nothing is to be gained, and canfs
          must do no harm.
held-two  as held, by two clients with half of it each; of them the one that shows here closes later.
held-knfsd  as held, on the kernel's server (lab/knfsd.py), which has its prices from canfs-priced.
held-two-servers  as held, above a volume that two servers export; A is a client of one of them, B of the other.

Variants: A alone; B with stock settings on a stock export; B with canfs; of two servers also with canfs, but without Peers, so that neither
hears of the other (canfs-apart)."""

from dataclasses import dataclass, replace

from bench.experiments import canfs
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.disk import LOCAL, READ_AHEAD_KIB
from bench.lab.host import LabError
from bench.lab.knfsd import what_is_missing as what_knfsd_misses
from bench.lab.lab import Guest, Lab
from bench.lab.report import Results

NAME = "interference"
HELP = "one client's write-back against another's reads (CA-NFS Figure 4)"
DATA_MB = 4000
READER_MIB = 512
SEED = 7
# A job may take so much longer than planned before the run is given up.
TIMEOUT_SECONDS = 240
APART = "canfs-apart"
PRICED = (APART, "canfs")
PRICE_PORT = 20590
# Below this share of the reads at the disk, the server's cache has answered the rest.
COLD_SHARE = 0.9


@dataclass(frozen=True)
class Case:
    name: str
    variants: tuple
    writer_mib: int  # memory of B
    phases: str      # of A: seconds
    megabytes: int   # written by B
    rate_mb: float   # 0: full speed
    begin: float     # second
    close_at: float  # second, 0: when all is written
    writers: int = 1  # as B, each
    server: str = "ganesha"
    two_servers: bool = False


FULL = (
    Case("held", ("alone", "stock", "canfs"), 2048, "0-20,30-40", 600, 40, 2, 32),
    Case("overfull", ("stock", "canfs"), 512, "0-40", 1000, 0, 2, 0),
    Case("held-two", ("stock", "canfs"), 1024, "0-20,30-40", 300, 20, 2, 32, 2),
    Case("held-knfsd", ("alone", "stock", "canfs"), 2048, "0-20,30-40", 600, 40, 2, 32, server="knfsd"),
    Case("held-two-servers", ("alone", "stock", APART, "canfs"), 2048, "0-20,30-40", 600, 40, 2, 32, two_servers=True),
)
QUICK = (
    replace(FULL[0], writer_mib=1024, phases="0-7,11-14", megabytes=240, begin=1, close_at=12),
    replace(FULL[1], phases="0-10", megabytes=200, begin=1),
    replace(FULL[2], phases="0-7,11-14", megabytes=120, begin=1, close_at=12),
    replace(FULL[3], writer_mib=1024, phases="0-7,11-14", megabytes=240, begin=1, close_at=12),
    replace(FULL[4], writer_mib=1024, phases="0-7,11-14", megabytes=240, begin=1, close_at=12),
)


@dataclass
class Trial:
    """One run of one variant, with all that was seen."""
    case: str
    variant: str
    reader: dict
    writer: dict  # of several the one whose close() took longest
    disk: dict
    prices: list
    agents: dict  # guest: what its agent logged


def start_two_servers(lab, priced, hear_of_each_other, options):
    """Of one volume."""
    def service(peer):
        return {"Price_Port": PRICE_PORT} | ({"Peers": peer} if hear_of_each_other else {})
    canfs.start_server(lab, priced, options, service(lab.second_address))
    canfs.start_server(lab, priced, options, service(lab.server_address), lab.start_second_server)


def start_server(lab, case, variant, options):
    priced = variant in PRICED
    if case.server == "knfsd":
        lab.start_knfsd(READ_AHEAD_KIB, is_writable=True)
        if priced:
            canfs.start_priced(lab)
    elif case.two_servers:
        start_two_servers(lab, priced, variant == "canfs", options)
    else:
        canfs.start_server(lab, priced, options)


def run_trial(lab, case, variant, options):
    priced = variant in PRICED
    start_server(lab, case, variant, options)
    writers = "bcde"[:case.writers] if variant != "alone" else ""
    guests = [Guest("a", READER_MIB), *(Guest(name, case.writer_mib, of_second=case.two_servers) for name in writers)]
    clients = lab.start_clients(guests)
    lab.disk.cold()
    agents = canfs.start_agents(lab, clients, options.agent) if priced else []
    watch = canfs.PriceWatch(lab) if priced and case.server == "ganesha" else None  # canfs-priced publishes no tag
    jobs = [clients[0].prepare("read", lab.program("canfs-job-read"), "--direct", "--phases",
                               case.phases, "--seed", SEED, lab.on_mount("data"))]
    jobs += [client.prepare("write", lab.program("canfs-job-write"), "--mb", case.megabytes, "--rate-mb", case.rate_mb,
                            "--begin", case.begin, "--close-at", case.close_at, lab.on_mount(f"out-{client.name}"))
             for client in clients[1:]]
    lab.disk.control("reset")
    launch(jobs)
    reader, *wrote = [job.result(TIMEOUT_SECONDS) for job in jobs]
    trial = Trial(case.name, variant, reader, max(wrote, key=lambda job: job["close_seconds"], default={}),
                  lab.disk.stat(), watch.stop() if watch else [], canfs.stop_agents(agents))
    lab.end_trial()
    for name in writers:
        (lab.disk.mount / f"out-{name}").unlink(missing_ok=True)
    return trial


def was_cold(trial):
    return trial.disk["reads"] - trial.disk["buffer_hits"] >= COLD_SHARE * trial.reader["ops"]


def add(results, trial):
    def row(who, metric, unit, value):
        results.add(f"{trial.case}-{who}", results.disk.name, trial.variant, metric, unit, value)
    row("reader", "ops_per_s", "1/s", trial.reader["ops_per_s"])
    row("reader", "p50", "ms", trial.reader["p50_ms"])
    row("reader", "p99", "ms", trial.reader["p99_ms"])
    if trial.writer:
        row("writer", "seconds", "s", trial.writer["seconds"])
        row("writer", "close_seconds", "s", trial.writer["close_seconds"])
        row("writer", "write_max", "ms", trial.writer["write_max_ms"])
        row("writer", "dirty_peak", "bytes", trial.writer["dirty_peak_bytes"])


def summary(trial):
    """One line for the progress of a run."""
    text = (f"A {trial.reader['ops_per_s']:.0f} ops/s, p50 {trial.reader['p50_ms']:.1f} ms, "
            f"p99 {trial.reader['p99_ms']:.1f} ms")
    if trial.writer:
        text += (f"; B slowest write {trial.writer['write_max_ms']:.0f} ms, "
                 f"close {trial.writer['close_seconds']:.1f} s")
    if not was_cold(trial):
        text += " (warning: the server's cache answered part of A's reads)"
    return text


def cases_of(options, say):
    """Those that are asked for; if none is named, without those that cannot be had here, and in a quick run without the kernel's server."""
    cases = [case for case in (QUICK if options.quick else FULL) if not options.cases or case.name in options.cases]
    missing = {"held-knfsd": what_knfsd_misses(options.disk),
               "held-two-servers": "it takes a volume (--backend)" if options.disk.backend == LOCAL else None}
    for case in cases:
        if missing.get(case.name):
            if options.cases:
                raise LabError(f"{case.name}: {missing[case.name]}")
            say(f"{case.name} is left out: {missing[case.name]}")
    return [case for case in cases if not missing.get(case.name) and (options.cases or not (options.quick and case.server == "knfsd"))]


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, [case.name for case in FULL])
    check_names("variant", options.variants, (*FULL[0].variants, APART))
    cases = cases_of(options, say)
    results = Results(NAME, options.disk)
    say(f"setting up: network, {options.disk.describe()}, a 4 GB file")
    with Lab(build, disk=options.disk) as lab:
        lab.disk.write_file("data", DATA_MB)
        for number in range(options.runs):
            for case in cases:
                for variant in case.variants:
                    if options.variants and variant not in options.variants:
                        continue
                    label = f"run {number + 1} of {options.runs}, {case.name}, {variant}"
                    say(f"{label}: running")
                    trial = run_trial(lab, case, variant, options)
                    say(f"{label}: {summary(trial)}")
                    add(results, trial)
                    if keep:
                        keep(trial)
    return results
