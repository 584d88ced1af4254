# SPDX-License-Identifier: LGPL-3.0-or-later
"""One trial of filebench.py: N clients that run one personality of filebench at the same time, and all that is seen of it."""

import time
from dataclasses import dataclass
from pathlib import Path

from bench.experiments import canfs
from bench.lab import counters, filebench
from bench.lab.client import launch
from bench.lab.host import LabError, get, wait_for
from bench.lab.lab import MOUNT_POINT
from bench.lab.waits import Waits

CREATE_SECONDS = 240
# From "go" to the first operation, and from the end of the run to filebench's own: its processes begin and end one by one.
SLACK_SECONDS = 120
# Of case.beside_writer: what its client may hold, written in 10 s, and closed after the 30 s that anything may be held.
WRITER_MIB, WRITER_FILE = 1024, "large"
WRITER_WORDS = ("--mb", 400, "--rate-mb", 40, "--begin", 5, "--close-at", 50)
BLOCK_STAT = ("reads", "reads_merged", "read_sectors", "read_ms", "writes", "writes_merged", "write_sectors", "write_ms",
              "in_flight", "busy_ms", "queue_ms", "discards", "discards_merged", "discard_sectors", "discard_ms", "flushes",
              "flush_ms")


@dataclass
class Trial:
    case: str
    program: str
    variant: str
    setting: str
    metrics: dict
    clients: dict      # guest: {"begin_seconds": after "go", "ops_per_s": ..., "flowops": {name: Flowop.summary()}}
    series: dict       # guest: [{"seconds": since "go", bytes and calls so far}], one a second
    rpcs: dict         # {operation: {"ops", "rtt_ms", "execute_ms" (means)}}, of all clients
    disk: dict         # of the modelled disk, and "block": of the loop device
    waits: dict        # {kernel function: threads of the server that waited in it, on average}
    seconds: dict      # what the parts of the trial took
    prices: list
    agents: dict       # guest: what its agent logged
    writer: dict       # what it printed; {}: there was none


class Stopwatch:
    def __init__(self):
        self.laps = {}
        self._last = time.monotonic()

    def lap(self, name):
        now = time.monotonic()
        self.laps[name] = round(now - self._last, 1)
        self._last = now


def block_stat(lab):
    words = get(Path("/sys/block") / Path(lab.disk.loop).name / "stat").split()
    return dict(zip(BLOCK_STAT, map(int, words)))


class Run:
    """A personality in one guest."""

    def __init__(self, lab, case, client, seconds, warm_up_seconds, program):
        self.client = client
        self.personality = case.personality
        self.program = program
        directory = lab.disk.mount / f"{self.personality.name}-{client.name}"
        directory.mkdir(exist_ok=True)
        self.job = client.prepare("filebench", *program.command(
            self.personality, client, lab.on_mount(directory.name), seconds, warm_up_seconds))
        self.begin = None  # monotonic

    def check(self):
        """LabError if it has ended, in one line."""
        self.client.check_alive()
        if self.job.is_done():
            said = (self.job.errors().strip() or self.job.output().strip() or "without a word").splitlines()
            raise LabError(f"filebench on {self.client.name} ended too early: {said[0]}")

    def has_created(self):
        self.check()
        return (self.client.directory / "created").exists()

    def has_begun(self):
        if not self.begin:
            self.check()
            if self.program.begun in self.job.output():
                self.begin = time.monotonic()
        return bool(self.begin)

    def has_measured(self):
        return self.job.is_done() or self.program.measured in self.job.output()

    def go(self):
        (self.client.directory / "go").touch()

    def result(self):
        """{name: Flowop}; LabError, in one line, if it failed."""
        try:
            return self.program.parse(self.personality, self.job.wait(SLACK_SECONDS))
        except LabError as error:
            raise LabError(" ".join(str(error).split())[:300]) from error

    def samples(self):
        """The blocks of "counters": (seconds since the first, mountstats and meminfo)."""
        text = (self.client.directory / "counters").read_text(encoding="utf-8", errors="replace")
        blocks = [block.partition("\n") for block in text.split("uptime ")[1:]]
        begin = float(blocks[0][0])
        return [(round(float(uptime) - begin, 2), rest) for uptime, _, rest in blocks if "Writeback:" in rest]


def series(blocks):
    """One sample a second, as counters.py has them."""
    return [{"seconds": seconds, **counters.parse(*split(text), MOUNT_POINT)} for seconds, text in blocks]


def split(text):
    mountstats, _, meminfo = text.partition("MemTotal:")
    return mountstats, "MemTotal:" + meminfo


def rpc_counters(text):
    """{operation: (calls, sum of the round trips, of the executions, in ms)}"""
    return {words[0][:-1]: (int(words[1]), int(words[7]), int(words[8]))
            for words in counters.of_mount(text, MOUNT_POINT)
            if len(words) >= 9 and words[0].endswith(":") and words[0][:-1].isupper()}


def rpcs(all_blocks):
    """What the clients asked for between the first sample and the last."""
    total = {}
    for blocks in all_blocks:
        first, last = (rpc_counters(text) for _, text in (blocks[0], blocks[-1]))
        for name, values in last.items():
            before = first.get(name, (0, 0, 0))
            total[name] = [t + v - b for t, v, b in zip(total.get(name, (0, 0, 0)), values, before)]
    return {name: {"ops": ops, "rtt_ms": round(rtt / ops, 3), "execute_ms": round(execute / ops, 3)}
            for name, (ops, rtt, execute) in total.items() if ops}


def counted(flowops):
    """All operations of one client in one."""
    return filebench.merged(flowop for flowop in flowops.values() if flowop.kind not in filebench.NOT_COUNTED)


def metrics_of(results):
    """Of all clients: results is {name: Flowop} of each."""
    operations = filebench.merged(map(counted, results))
    closes = filebench.merged(flowop for flowops in results for flowop in flowops.values() if flowop.kind == "closefile")
    metrics = {"ops_per_s": operations.ops_per_s, "p50": operations.percentile_ms(0.5), "p99": operations.percentile_ms(0.99),
               "close_p99": closes.percentile_ms(0.99)}
    return {name: value for name, value in metrics.items() if value is not None}


def writer_metrics(writer):
    return {"write_max": writer["write_max_ms"], "writer_close": writer["close_seconds"]} if writer else {}


def start(lab, case, variant, options, setting, program):
    """The server and the clients; returns the clients. Variant delegations: CANFS without agents, and with delegations."""
    priced = variant in ("canfs", "delegations")
    canfs.start_server(lab, priced, options, **(canfs.DELEGATIONS if variant == "delegations" else {}))
    clients = lab.start_clients(case.guests(program))
    jobs = [client.prepare(f"setting-{number}", *command)
            for client in clients for number, command in enumerate(setting.commands())]
    launch(jobs)
    for job in jobs:
        job.wait(SLACK_SECONDS)
    return clients


def create(lab, runs):
    """filebench makes its files. Then the server begins anew: what it has learnt of these files while they were made, and
    what it has cached, would be of a workload that is none."""
    launch([run.job for run in runs])
    wait_for(lambda: all([run.has_created() for run in runs]), CREATE_SECONDS, "filebench: making its files")
    lab.server.stop()
    lab.server.start()


def observe(lab, runs, beside, seconds, watch):
    """From "go" until all have measured: the disk's counters, and where the server waited, until the first has."""
    block = block_stat(lab)
    with Waits(lab.server.pid) as waits:
        begin = time.monotonic()
        for run in runs:
            run.go()
        launch(beside)
        wait_for(lambda: all([run.has_begun() for run in runs]), SLACK_SECONDS, "filebench: starting its processes")
        watch.lap("begin")
        wait_for(lambda: any(run.has_measured() for run in runs), seconds + SLACK_SECONDS, "filebench")
        disk = lab.disk.stat() | {"block": {key: value - block[key] for key, value in block_stat(lab).items()}}
        waited = waits.stop()
    wait_for(lambda: all(run.has_measured() for run in runs), SLACK_SECONDS, "filebench")
    watch.lap("run")
    lab.disk.control("mode=free")
    return begin, disk, waited


def measure(lab, case, variant, setting, options, seconds, program):
    """program: of bench/lab/filebench.py."""
    watch = Stopwatch()
    clients = start(lab, case, variant, options, setting, program)
    watch.lap("boot")
    warm_up_seconds = 0 if options.compare else case.warm_up_seconds  # filebench cannot
    runs = [Run(lab, case, client, seconds, warm_up_seconds, program) for client in clients[:case.clients]]
    beside = [client.prepare("write", lab.program("canfs-job-write"), *WRITER_WORDS, lab.on_mount(WRITER_FILE))
              for client in clients[case.clients:]]
    create(lab, runs)
    watch.lap("create")
    agents = canfs.start_agents(lab, clients, options.agent) if variant == "canfs" else []
    lab.disk.cold()
    prices = canfs.PriceWatch(lab) if agents else None
    watch.lap("cold")
    begin, disk, waited = observe(lab, runs, beside, seconds, watch)
    results = [run.result() for run in runs]
    writer = beside[0].result(SLACK_SECONDS) if beside else {}
    samples = {run.client.name: run.samples() for run in runs}
    said = canfs.stop_agents(agents)
    watch.lap("end")
    seen = {run.client.name: {"begin_seconds": round(run.begin - begin, 2), "ops_per_s": counted(flowops).ops_per_s,
                              "flowops": {name: flowop.summary() for name, flowop in flowops.items()}}
            for run, flowops in zip(runs, results)}
    return Trial(case.name, program.name, variant, str(setting), metrics_of(results) | writer_metrics(writer), seen,
                 {name: series(blocks) for name, blocks in samples.items()}, rpcs(samples.values()), disk, waited, watch.laps,
                 prices.stop() if prices else [], said, writer)


def prepare_disk(lab, personality):
    """A new file system: where files come to lie on one that was used depends on what was there, and seeks on that. But a
    personality that keeps its files finds them."""
    if not (personality.keeps_files and any(lab.disk.mount.glob(f"{personality.name}-c*"))):
        lab.disk.make_file_system()


def clean_up(lab):
    """Also after a trial that failed."""
    lab.end_trial()
    (lab.disk.mount / WRITER_FILE).unlink(missing_ok=True)
