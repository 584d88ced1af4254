# SPDX-License-Identifier: LGPL-3.0-or-later
"""alerts: does each of our five alerts fire for its cause, and for no other? Eight clients read at random, 8 KB, a few times a second. A real
Prometheus scrapes an agent beside the server, as Debian sets it up, and has our rules as they are.

write-back   one client, another one each time, writes large files
reads        it reads four files with O_DIRECT, 1 MB at a time
read-ahead   it reads two files through its page cache
commits      eight threads of it write 4 KB and fsync
many         all clients read as fast as they can
light        nothing else: none shall fire

    all   |.  .   .  .   .  .   .  .  .   .  .   .  .   .  .  .|
    one         |#####################|                             the cause
    alert         pending  | firing       | none                    for: 2m

A case has, of each alert, the share of the runs in which it fired; fires_after and ends_after, seconds from the begin and the end of the cause;
named_rightly, the share in which its label `client` was the one to blame. It fails if another one fires, or its own does not.
--quick: alerts after three seconds, not two minutes; another server process each time, which remembers nothing; and a sixth of the waiting is
enough, of a minute that is as full by then."""

import random
import shutil
import time
from dataclasses import dataclass, field, replace

from bench.experiments import canfs, dashboard, recorded, who
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.rounds import chosen
from bench.lab import lab as laboratory
from bench.lab.host import LabError, wait_for
from bench.lab.lab import Guest, Lab
from bench.lab.prometheus import RULES, Prometheus
from bench.lab.report import RESULTS_DIRECTORY, Results

NAME = "alerts"
HELP = "does each alert fire for its cause, and for no other?"
RUNS = 1
SEED = 11
PICTURE = "dashboard.png"
WINDOW_SECONDS = 60  # of which the metrics are
FILE_MB = 1000
TIMEOUT_SECONDS = 90
AGAIN = 'end=$((SECONDS + $1)); shift; while ((SECONDS < end)); do "$@" || exit; done'
SCANS, STREAMS = 4, 2
BESIDE = 'file=$1 files=$2; shift 2; for ((n = 0; n < files; n++)); do "$@" "$file-$n" & done; wait'


@dataclass(frozen=True)
class Plan:
    job: who.Plan      # seconds: of the cause
    interval: int      # of Prometheus
    changes: tuple     # of the rules
    ask_every: float
    is_restarted: bool # the server, before each cause


FULL = Plan(replace(who.FULL, seconds=240, rate=6), 15, (), 2, False)
QUICK = Plan(replace(who.QUICK, seconds=16, rate=6), 1, (("for: 2m", "for: 3s"), ("> 0.3", "> 0.05"), ("> 1 ", "> 0.15 ")), 1, True)


def write_back(lab, plan, client):
    """One file after the other: it is in memory, what is on the modelled disk."""
    return ("bash", "-c", AGAIN, "bash", plan.seconds, lab.program("canfs-job-write"), "--mb", FILE_MB, "--seconds", plan.seconds,
            lab.on_mount(f"out-{client.name}"))


def scan(lab, plan, _):
    """As a backup reads: several files at a time."""
    return ("bash", "-c", BESIDE, "bash", lab.on_mount("scan"), SCANS, lab.program("canfs-job-read"), "--direct", "--sequential", "--block-kib", 1024,
            "--threads", 2, "--phases", f"0-{plan.seconds}")


def read_ahead(lab, plan, _):
    """More of them wait for what is read ahead, as often as not."""
    return ("bash", "-c", BESIDE, "bash", lab.on_mount("scan"), STREAMS, lab.program("canfs-job-read"), "--sequential", "--block-kib", 64,
            "--phases", f"0-{plan.seconds}")


def random_reads(lab, plan, client):
    """Each elsewhere: eight that read the same wait for nobody."""
    return (lab.program("canfs-job-read"), "--direct", "--threads", 4, "--seed", 100 * (client.index + 1), "--phases", f"0-{plan.seconds}", lab.on_mount("data"))


@dataclass(frozen=True)
class Cause:
    alert: str         # that shall fire; empty: none
    job: object = None
    clients: int = 1   # that have it; 0: all


CAUSES = {
    "write-back": Cause("CanfsWriteBackMakesOthersWait", write_back),
    "reads": Cause("CanfsReadsMakeOthersWait", scan),
    "read-ahead": Cause("CanfsReadAheadMakesOthersWait", read_ahead),
    "commits": Cause("CanfsCommitsMakeOthersWait", who.fsync),
    "many": Cause("CanfsManyMakeEachOtherWait", random_reads, 0),
    "light": Cause(""),
}
QUICK_CAUSES = ("write-back", "commits", "light")  # or as --case says
ALERTS = {cause.alert: name for name, cause in CAUSES.items() if cause.alert}


@dataclass
class Trial:
    cause: str
    bully: str                                 # its address; of many: empty
    fired: dict = field(default_factory=dict)  # {alert: (seconds after the begin, its client)}
    begun: float = 0                           # of the clock
    over: float = 0
    pending: list = field(default_factory=list) # (seconds, alert, state, client), whenever asked
    ended: float = None                        # seconds after the end
    who: dict = None                           # what the server says of the last minute of the cause

    @property
    def wanted(self):
        return CAUSES[self.cause].alert

    def is_right(self):
        return set(self.fired) == {self.wanted} - {""} and all(client == self.bully for _, client in self.fired.values())

    def __str__(self):
        fired = [f"{ALERTS[alert]} after {seconds:.0f} s{', ' * bool(client)}{client}" for alert, (seconds, client) in self.fired.items()]
        return f"{self.cause}{' by ' * bool(self.bully)}{self.bully}: {'; '.join(fired) or 'none fired'}{'' if self.is_right() else ': WRONG'}"


@dataclass
class Dashboard:
    """At the end: what its panels showed."""
    panels: list


class AlertResults(Results):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.trials = []
        self.empty_panels = []

    def add_trial(self, trial):
        self.trials.append(trial)
        for alert in ALERTS:
            self.add(trial.cause, self.disk.name, "canfs", alert, "share", int(alert in trial.fired))
        if trial.wanted in trial.fired:
            self.add(trial.cause, self.disk.name, "canfs", "fires_after", "s", trial.fired[trial.wanted][0])
            self.add(trial.cause, self.disk.name, "canfs", "named_rightly", "share", int(trial.fired[trial.wanted][1] == trial.bully))
        if trial.fired and trial.ended is not None:
            self.add(trial.cause, self.disk.name, "canfs", "ends_after", "s", trial.ended)

    def add_panels(self, titles):
        """That have no data and should."""
        self.empty_panels = titles
        self.add("dashboard", self.disk.name, "canfs", "empty_panels", "panels", len(titles))

    def missed(self):
        return bool(self.empty_panels) or not all(trial.is_right() for trial in self.trials)


def what_is_missing():
    return laboratory.what_is_missing() or (None if shutil.which("prometheus") else "prometheus is not installed")


def rules(plan, directory):
    """Ours, as they are or changed."""
    text = RULES.read_text(encoding="utf-8")
    for old, new in plan.changes:
        if old not in text:
            raise LabError(f"{RULES}: no '{old}', which {NAME} --quick changes")
        text = text.replace(old, new)
    path = directory / RULES.name
    path.write_text(text, encoding="utf-8")
    return path


def watch(prometheus, trial, plan, begin):
    while time.monotonic() - begin < plan.job.seconds:
        next_one = time.monotonic() + plan.ask_every
        for alert in prometheus.alerts():
            name, client = alert["labels"]["alertname"], alert["labels"].get("client", "")
            seconds = round(time.monotonic() - begin, 1)
            trial.pending.append((seconds, name, alert["state"], client))
            if alert["state"] == "firing":
                trial.fired.setdefault(name, (seconds, client))
        time.sleep(max(next_one - time.monotonic(), 0))


def run_trial(lab, prometheus, plan, number_, cause, index):
    """index: of the client that is to blame, if there is one."""
    wanted = CAUSES[cause]
    clients = [lab.clients[index]] if wanted.clients else lab.clients
    trial = Trial(cause, clients[0].network.guest_address(index) if wanted.job and wanted.clients else "")
    lab.disk.cold()
    trial.begun = time.time()
    begin = time.monotonic()
    jobs = [client.run(f"{cause}-{number_}", *wanted.job(lab, plan.job, client)) for client in clients if wanted.job]
    watch(prometheus, trial, plan, begin)
    trial.over = time.time()
    trial.who = canfs.ask_server(lab, "who")
    for job in jobs:
        job.wait(TIMEOUT_SECONDS)
    forget(lab, prometheus, plan, trial)
    for path in lab.disk.mount.glob("out-*"):
        path.unlink()
    return trial


def forget(lab, prometheus, plan, trial):
    """The waiting of the cause before."""
    if plan.is_restarted:
        lab.server.stop()
        lab.server.start()
        wait_for(lambda: len(canfs.ask_server(lab, "clients")["clients"]) == len(lab.clients), TIMEOUT_SECONDS, "clients come again")
        return
    end = time.monotonic()
    wait_for(lambda: not prometheus.alerts(), 3 * WINDOW_SECONDS, f"{trial.cause}: alerts end", plan.ask_every)
    trial.ended = time.monotonic() - end
    time.sleep(max(WINDOW_SECONDS - trial.ended, 0))


def record(prometheus, results, seconds):
    """For promtool, what was seen in a full run; its series, and the alerts that fired."""
    series = {(row["metric"]["client"], row["metric"]["cause"]): [(float(time_), float(value)) for time_, value in row["values"]]
              for row in prometheus.query_range("canfs_client_imposed_waiting_ratio", seconds)}
    causes = [(trial.cause, trial.begun, trial.over, {alert: client for alert, (_, client) in trial.fired.items()}) for trial in results.trials]
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    (RESULTS_DIRECTORY / "alerts.test.yml").write_text(recorded.test(time.strftime("%Y-%m-%d"), series, causes, prometheus.interval_seconds),
                                                       encoding="ascii")


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    causes = chosen("case", options.cases or (QUICK_CAUSES if options.quick else ()), CAUSES)
    chosen("variant", options.variants, ("canfs",))
    plan = QUICK if options.quick else FULL
    results = AlertResults(NAME, options.disk)
    rng = random.Random(SEED)
    with Lab(build, disk=options.disk) as lab:
        lab.disk.write_file("data", plan.job.data_mb)
        for number_ in range(SCANS):
            lab.disk.write_file(f"scan-{number_}", plan.job.scan_mb // SCANS)
        canfs.start_server(lab, True, options)
        clients = lab.start_clients([Guest(f"g{number}", who.GUEST_MIB) for number in range(plan.job.clients)])
        with Prometheus(lab, lab.directory / "prometheus", plan.interval, rules(plan, lab.directory)) as prometheus:
            begin = time.monotonic()
            who.start_readers(lab, plan.job, clients)
            for number_ in range(options.runs):
                for cause, index in zip(rng.sample(causes, len(causes)), rng.sample(range(len(clients)), len(causes))):
                    trial = run_trial(lab, prometheus, plan, number_, cause, index)
                    say(f"run {number_ + 1} of {options.runs}: {trial}")
                    results.add_trial(trial)
                    if keep:
                        keep(trial)
            panels = dashboard.ask(prometheus, time.monotonic() - begin, lab.disk.mount)
            results.add_panels(dashboard.empty(panels))
            say(f"panels without data: {', '.join(dashboard.empty(panels)) or 'none'}; {dashboard.save(panels, plan.interval, PICTURE)}")
            record(prometheus, results, time.monotonic() - begin)
            if keep:
                keep(Dashboard(panels))
        lab.end_trial()
    return results
