# SPDX-License-Identifier: LGPL-3.0-or-later
"""filebench (CA-NFS §4.2: Figures 7 and 9, Table 1): its personalities with 1 to 23 clients, each in a directory of its own.

The installed filebench runs them, or else our own program of the same personalities. A case is PERSONALITY-clients-N, with -4.1
over NFSv4.1. With -beside-writer one more client writes a large file meanwhile.

stock        kernel and Ganesha defaults
best-static  the same server; the clients' dirty limits and read-ahead searched for this personality, with 8 clients
canfs        CANFS on the server, canfs-agent on the clients

With --compare both programs run in turn, with stock: filebench, ours."""

import re
import shutil
import time
from dataclasses import dataclass, replace

from bench.experiments import best_static, filebench_plot, filebench_trial
from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.experiments.reading import warning
from bench.lab import filebench, lab as laboratory
from bench.lab.host import LabError
from bench.lab.lab import GUESTS_MAX, Guest, Lab
from bench.lab.report import Results, number

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "filebench"
HELP = "filebench's personalities with 1 to 23 clients (CA-NFS Figures 7 and 9, Table 1)"
RUNS = 3
OPTIONS = ("filebench", "compare")  # options of bench/run that few experiments use
VARIANTS = ("stock", "best-static", "canfs")
COMPARED = ("filebench", "ours")
# The allowed ratio of ours to filebench's operations per second.
COMPARED_WITHIN = (0.9, 1.1)
UNITS = {"ops_per_s": "1/s", "p50": "ms", "p99": "ms", "close_p99": "ms", "write_max": "ms", "writer_close": "s"}
COUNTS = (1, 8, 23)
OVER_NFS4 = ("fileserver", "oltp")
BESIDE_WRITER = ("webserver", "oltp")
BESIDE_WRITER_CLIENTS = 8
QUICK_CASES = ("fileserver-clients-1", "fileserver-clients-4")
QUICK_VARIANTS = ("stock", "canfs")
QUICK_SECONDS = 8
# Longer than anything is held: all that the writer writes reaches the disk meanwhile, whatever the variant.
BESIDE_WRITER_SECONDS = 60
GUEST_MIB = 256
# More, and the machine is too busy: what each client measured was another time.
BEGIN_WITHIN_SECONDS = 5
# Beside the guests: the server, the disk's contents and what runs on the host.
OTHERS_MIB = 2048
SEARCH_CLIENTS = 8
KNOBS = ("dirty", "read_ahead_kib")
LEVELS = {"dirty": ((1, 2), (35, 45)), "read_ahead_kib": (16, 1024)}
ASKED = (Asked("ops_per_s", "at least", 0.97, "stock"), Asked("ops_per_s", "at least", 0.97, "best-static"))


@dataclass(frozen=True)
class Case:
    personality: filebench.Personality
    clients: int
    version: str = "3"
    beside_writer: bool = False

    @property
    def name(self):
        return f"{self.personality.name}-clients-{self.clients}" + ("" if self.version == "3" else f"-{self.version}") + \
               ("-beside-writer" if self.beside_writer else "")

    def guests(self, program):
        """The writer is the last. program: of bench/lab/filebench.py."""
        return [Guest(f"c{number}", GUEST_MIB + program.memory_mib, self.version) for number in range(self.clients)] + \
               [Guest("writer", filebench_trial.WRITER_MIB, self.version)] * self.beside_writer

    @property
    def warm_up_seconds(self):
        """The writer's times are those of a run without."""
        return 0 if self.beside_writer else self.personality.warm_up_seconds

    @property
    def search_key(self):
        """Cases that have one best static setting."""
        return self.personality.name, self.version


def case_of(name):
    match = re.fullmatch(r"(\w+)-clients-([1-9]\d*)(-4\.1)?(-beside-writer)?", name)
    if not match or match[1] not in filebench.PERSONALITIES:
        raise LabError(f"--case {name}: must be PERSONALITY-clients-N[-4.1][-beside-writer], the personality one of "
                       f"{', '.join(filebench.PERSONALITIES)}")
    case = Case(filebench.PERSONALITIES[match[1]], int(match[2]), "4.1" if match[3] else "3", bool(match[4]))
    if case.clients + case.beside_writer > GUESTS_MAX:
        raise LabError(f"--case {name}: at most {GUESTS_MAX} clients")
    return case


def all_cases():
    cases = [Case(personality, count) for personality in filebench.PERSONALITIES.values() for count in COUNTS]
    cases += [Case(filebench.PERSONALITIES[name], count, "4.1") for name in OVER_NFS4 for count in COUNTS]
    return cases + [Case(filebench.PERSONALITIES[name], BESIDE_WRITER_CLIENTS, beside_writer=True) for name in BESIDE_WRITER]


def chosen_cases(options):
    names = options.cases or (QUICK_CASES if options.quick else tuple(case.name for case in all_cases()))
    return [case_of(name) for name in dict.fromkeys(names)]


def chosen_variants(options):
    if options.compare:
        if options.variants:
            raise LabError("--compare: has variants of its own, without --variant")
        return list(COMPARED)
    check_names("variant", options.variants, VARIANTS)
    if options.quick and "best-static" in options.variants:
        raise LabError("--variant best-static: is not searched with --quick")
    return [variant for variant in (QUICK_VARIANTS if options.quick else VARIANTS)
            if not options.variants or variant in options.variants]


def what_is_missing():
    return laboratory.what_is_missing()


def programs_for(lab, options):
    """{variant: its program}; {None: that of all variants}."""
    upstream = filebench.installed(options.filebench)
    ours = filebench.Ours(lab.program(filebench.OURS))
    if not options.compare:
        return {None: upstream or ours}
    if not upstream:
        raise LabError("--compare: filebench is not installed; --filebench FILE says where it is")
    return dict(zip(COMPARED, (upstream, ours)))


def available_mib():
    """For guests: their memory is files in /dev/shm."""
    with open("/proc/meminfo", encoding="ascii") as file:
        kib = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    return min(kib // 1024 - OTHERS_MIB, shutil.disk_usage("/dev/shm").free >> 20)


def check_memory(cases, program, available):
    for case in cases:
        guests = case.guests(program)
        needed = sum(guest.memory_mib for guest in guests)
        if needed > available:
            raise LabError(f"{case.name}: {len(guests)} guests need {needed} MiB of memory, "
                           f"{max(0, available)} MiB are left for them")


class FilebenchResults(Results):
    """The table names the program, says whether the goals were reached, and quotes the results of CA-NFS."""

    def __init__(self, options, programs):
        super().__init__(NAME, options.disk)
        self.quick = options.quick
        self.about = {"program": " and ".join(program.name for program in programs.values())}
        self.programs = programs
        self.settings = {}  # (personality, version): best static
        self.last = {}      # (case, variant): its last trial

    def add_trial(self, trial):
        self.last[trial.case, trial.variant] = trial
        for metric, value in trial.metrics.items():
            self.add(trial.case, self.disk.name, trial.variant, metric, UNITS[metric], value)

    def cases(self):
        return list(dict.fromkeys(key[0] for key in self._values))

    def compared(self):
        """A line for each case with the ratio of the two programs; empty if only one ran."""
        return [comparison(self, case) for case in self.cases()] if len(self.programs) > 1 else []

    def table(self):
        lines = [super().table(), "", *(program.describe() for program in self.programs.values()), *self.compared()]
        lines += [f"best-static of {' over NFSv'.join(key)} is: {setting}" for key, setting in self.settings.items()]
        lines += verdicts(self, ASKED, self.cases(), self.quick)
        return "\n".join(lines if self.quick else lines + filebench_plot.beside_the_paper(self))


def comparison(results, case):
    theirs, ours = (results.median(case, variant, "ops_per_s") for variant in COMPARED)
    ratio, (least, most) = ours / theirs, COMPARED_WITHIN
    others = [(metric, *(results.median(case, variant, metric) for variant in COMPARED)) for metric in ("p50", "p99", "close_p99")]
    return (f"{case}, ops_per_s: ours over filebench's is {ratio:.2f}: {'good' if least <= ratio <= most else 'MISSED'}: "
            f"{least:g} to {most:g} is asked for" +
            "".join(f"; {metric} {b / a:.2f}" for metric, a, b in others if a and b))


class Progress:
    """How long the rest will take: a trial takes what others of its kind took. A kind: (clients, seconds of the run)."""

    def __init__(self, kinds):
        self.left = list(kinds)  # of each trial that is to come
        self._took = {}

    def done(self, kind, seconds):
        self.left.remove(kind)
        self._took.setdefault(kind, []).append(seconds)

    def expected(self, kind):
        took = self._took.get(kind)
        return sum(took) / len(took) if took else kind[1] + 20 + 1.5 * kind[0]

    def text(self):
        seconds = sum(map(self.expected, self.left))
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"


@dataclass
class Runner:
    lab: Lab
    cases: list
    variants: list
    options: Options
    say: object
    keep: object
    results: FilebenchResults
    programs: dict

    def search_cases(self):
        """{key: the case by which its best static setting is searched}: 8 clients, or those that were asked for."""
        counts = {}
        for case in self.cases if "best-static" in self.variants else ():
            counts.setdefault(case.search_key, []).append(replace(case, beside_writer=False))
        return {key: cases[0] if len(cases) == 1 else replace(cases[0], clients=SEARCH_CLIENTS)
                for key, cases in counts.items()}

    def run(self):
        searches = self.search_cases()
        each = 1 + sum(len(LEVELS[knob]) for knob in KNOBS)
        self.progress = Progress(
            [self.kind(case) for case in searches.values() for _ in range(each)] +
            [self.kind(case) for case in self.cases for _ in self.variants for _ in range(self.options.runs)])
        self.say(f"{len(self.progress.left)} trials, {self.progress.text()}")
        for key, case in searches.items():
            self.results.settings[key] = self.search(case)
        for number in range(self.options.runs):
            for case in self.cases:
                for variant in self.options.in_turn(self.variants, number):
                    setting = self.results.settings[case.search_key] if variant == "best-static" else best_static.STOCK
                    label = f"run {number + 1} of {self.options.runs}, {case.name}, {variant}"
                    self.results.add_trial(self.trial(case, variant, setting, label))

    def seconds_of(self, case):
        if case.beside_writer:
            return BESIDE_WRITER_SECONDS
        return QUICK_SECONDS if self.options.quick else case.personality.seconds

    def kind(self, case):
        return case.clients, self.seconds_of(case)

    def search(self, case):
        setting, _ = best_static.search(
            LEVELS, KNOBS, lambda setting: self.trial(case, "search", setting, f"search, {case.name}, {setting}"),
            lambda trial: -trial.metrics["ops_per_s"], self.say)
        return setting

    def trial(self, case, variant, setting, label):
        begin = time.monotonic()
        filebench_trial.prepare_disk(self.lab, case.personality)
        try:
            program = self.programs.get(variant) or self.programs[None]
            trial = filebench_trial.measure(self.lab, case, variant, setting, self.options, self.seconds_of(case), program)
        finally:
            filebench_trial.clean_up(self.lab)
            self.progress.done(self.kind(case), time.monotonic() - begin)
        self.say(f"{label}: {summary(trial)}; {self.progress.text()}")
        self.keep(trial)
        return trial


def summary(trial):
    text = ", ".join(f"{value:.0f} ops/s" if metric == "ops_per_s" else f"{metric} {number(value)} {UNITS[metric]}"
                     for metric, value in trial.metrics.items())
    begins = [client["begin_seconds"] for client in trial.clients.values()]
    if max(begins) - min(begins) > BEGIN_WITHIN_SECONDS:
        text += f" (warning: the clients began within {max(begins) - min(begins):.1f} s)"
    idle = [name for name, client in trial.clients.items() if not client["ops_per_s"]]
    if idle:
        text += f" (warning: {', '.join(idle)} did nothing)"
    return text + warning(trial.disk)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases, variants = chosen_cases(options), chosen_variants(options)
    lab = Lab(build, disk=options.disk)
    programs = programs_for(lab, options)
    for program in programs.values():
        check_memory(cases, program, available_mib())
    results = FilebenchResults(options, programs)
    if not filebench.installed(options.filebench):
        say("filebench is not installed: our own program of its personalities runs")
    say(f"setting up: network, {options.disk.describe()}")
    with lab:
        Runner(lab, cases, variants, options, say, keep or (lambda trial: None), results, programs).run()
    if not options.compare:
        say(filebench_plot.save(results))
    return results
