# SPDX-License-Identifier: LGPL-3.0-or-later
"""uplink (CA-NFS §3.3, "Client Network"): what a client's write-back does to its own reads, over a link of 100 Mbit/s.

The server is idle all the time: what is read is in its memory, and its disk takes what the link brings. So its prices say nothing,
and only the client can know that its link is busy. A second process of the client reads 32 KB at random (O_DIRECT, so that
the client's cache answers nothing) in two busy phases, and is idle between them:

held      A file is written that fits what may be held, at more than the link carries, and kept open over both phases.
overfull  More is written than can be held, at full speed: nothing is to be gained, and the network's price must do no harm.

    reader  |  busy  |        |  busy  |
    writer   |====|...................... close

alone              the reader only
stock              the kernel and Ganesha
canfs-network-off  canfs, whose agent knows no speed of the link: a guest's interface has none
canfs              the same with link_speed"""

from dataclasses import dataclass, replace

from bench.experiments import canfs, interference
from bench.experiments.options import Options, check_names
from bench.lab.client import launch
from bench.lab.lab import Guest, Lab
from bench.lab.load import fill_server_cache
from bench.lab.net import Link
from bench.lab.report import Results

NAME = "uplink"
HELP = "a client's write-back against its own reads on a link of 100 Mbit/s (CA-NFS §3.3)"
LINK_MBIT = 100
DELAY_MS = 1
BLOCK_KIB = 32
DATA_MB = 64
CACHED_MIB = 60  # less than that, of 61.0; then one more is read
GUEST_MIB = 512
SEED = 7
TIMEOUT_SECONDS = 240
AGENTS = {"canfs-network-off": {}, "canfs": {"link_speed": LINK_MBIT}}  # agent.conf
VARIANTS = ("alone", "stock", *AGENTS)


@dataclass(frozen=True)
class Case:
    name: str
    variants: tuple
    phases: str      # of the reader: seconds
    megabytes: int   # written
    rate_mb: float   # 0: full speed
    begin: float     # second
    close_at: float  # second, 0: when all is written


FULL = (
    Case("held", VARIANTS, "0-10,25-33", 100, 14, 1, 34),
    Case("overfull", VARIANTS[1:], "0-30", 400, 0, 2, 0),
)
QUICK = (
    replace(FULL[0], variants=VARIANTS[1:], phases="0-8,15-18", megabytes=60, close_at=19),
    replace(FULL[1], phases="0-10", megabytes=120, begin=1),  # if asked for: there is no time for it
)


@dataclass
class Trial:
    """One run of one variant, with all that was seen."""
    case: str
    variant: str
    reader: dict
    writer: dict
    prices: list  # the server's
    agents: dict  # guest: what its agent logged


def run_trial(lab, link, case, variant, options):
    agent = AGENTS.get(variant)
    canfs.start_server(lab, agent is not None, options)
    [client] = lab.start_clients([Guest("a", GUEST_MIB)], link)
    lab.disk.cold()
    lab.disk.control("mode=free")
    fill_server_cache(lab, CACHED_MIB, TIMEOUT_SECONDS)
    lab.disk.model_on("reset")
    agents = canfs.start_agents(lab, [client], agent | options.agent) if agent is not None else []
    watch = canfs.PriceWatch(lab) if agent is not None else None
    jobs = [client.prepare("read", lab.program("canfs-job-read"), "--direct", "--block-kib", BLOCK_KIB, "--phases", case.phases,
                           "--seed", SEED, lab.on_mount("data"))]
    if variant != "alone":
        jobs.append(client.prepare("write", lab.program("canfs-job-write"), "--mb", case.megabytes, "--rate-mb", case.rate_mb,
                                   "--begin", case.begin, "--close-at", case.close_at, lab.on_mount("out")))
    launch(jobs)
    reader, *wrote = [job.result(TIMEOUT_SECONDS) for job in jobs]
    trial = Trial(case.name, variant, reader, wrote[0] if wrote else {}, watch.stop() if watch else [], canfs.stop_agents(agents))
    lab.end_trial()
    (lab.disk.mount / "out").unlink(missing_ok=True)
    return trial


def add(results, trial):
    interference.add(results, trial)
    results.add(f"{trial.case}-reader", results.disk.name, trial.variant, "max", "ms", trial.reader["max_ms"])


def summary(trial):
    """One line for the progress of a run."""
    text = (f"reads {trial.reader['ops_per_s']:.0f}/s, p50 {trial.reader['p50_ms']:.1f} ms, p99 {trial.reader['p99_ms']:.1f} ms, "
            f"at most {trial.reader['max_ms']:.0f} ms")
    if trial.writer:
        text += f"; written in {trial.writer['seconds']:.1f} s, close {trial.writer['close_seconds']:.1f} s"
    return text


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    check_names("case", options.cases, [case.name for case in FULL])
    check_names("variant", options.variants, VARIANTS)
    wanted = options.cases or [case.name for case in (QUICK[:1] if options.quick else FULL)]
    cases = [case for case in (QUICK if options.quick else FULL) if case.name in wanted]
    results = Results(NAME, options.disk)
    say(f"setting up: a link of {LINK_MBIT} Mbit/s, {options.disk.describe()}, a file of {DATA_MB} MB")
    with Lab(build, disk=options.disk) as lab:
        link = Link(lab.network, LINK_MBIT, taps=1, delay_ms=DELAY_MS)
        try:
            link.start()
            lab.disk.write_file("data", DATA_MB)
            for number in range(options.runs):
                for case in cases:
                    for variant in case.variants:
                        if options.variants and variant not in options.variants:
                            continue
                        label = f"run {number + 1} of {options.runs}, {case.name}, {variant}"
                        say(f"{label}: running")
                        trial = run_trial(lab, link, case, variant, options)
                        say(f"{label}: {summary(trial)}")
                        add(results, trial)
                        if keep:
                            keep(trial)
        finally:
            lab.stop_clients()
            link.stop()
    return results
