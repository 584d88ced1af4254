# SPDX-License-Identifier: LGPL-3.0-or-later
"""powercut: the power of the server and its disk is cut while a client writes, and what the server had acknowledged is looked for.

A client runs filebench's fileserver, and beside it jobs/promises.py. 2 to 6 s after the first promise the server stops answering, the disk loses
what a drive may lose (bench/disk/volatile.h), the file system is mounted again, and checked: ten times of the same moment, of which each time
another part is lost. A run is a moment for each case, with each being counted as a cut:

unmountable file systems that the kernel refuses to mount; their promises are not counted
fsck        others that were found damaged
made        promises: what was acknowledged as stable
stable      broken: a file that was written, fsynced and closed is not there, or not as it was
rewritten   broken: likewise the second version of one that existed
created, renamed, removed   broken: a name is as it was before

The cut is no less than a real one: the network and the clients' memory would help nobody, since the clients go as well."""

import random
import time
from dataclasses import dataclass, replace

from bench.experiments import canfs
from bench.experiments.filebench import case_of, what_is_missing  # noqa: F401  (bench/run asks for the latter)
from bench.experiments.filebench_trial import SLACK_SECONDS, Run, create
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.rounds import chosen, run_rounds
from bench.jobs import promises
from bench.lab.client import launch
from bench.lab.disk import FILESYSTEMS, DamageError, MountError
from bench.lab.filebench import program_for
from bench.lab.host import wait_for
from bench.lab.report import Results

NAME = "powercut"
HELP = "what the server has acknowledged, after a power cut"
DISK_OPTIONS_REFUSED = ("filesystem", "backend")  # the cases are file systems
RUNS = 3
OPTIONS = ("filebench",)  # of bench/run, that few experiments have
VARIANTS = {"stock": None, "canfs": {}, "commit-metadata": {"Commit_Metadata": "true"}}  # of the CANFS block
LOAD = "fileserver-clients-1"
LOAD_SECONDS = 30   # more than any cut waits
CUT_SECONDS = 2, 6
CUTS, QUICK_CUTS = 10, 2  # of one moment
THREADS = 4
EVENTS = ("stable", "rewritten", "created", "renamed", "removed")
DIRECTORY = "promises"
JOB = promises.__file__
UNITS = {"unmountable": "file systems", "fsck": "file systems"}


@dataclass
class Cut:
    seed: int
    sectors: dict    # of the disk: that were volatile, and that were lost
    refused: str     # what mount said; "": nothing
    damage: str      # what fsck said; "": nothing
    made: dict       # {event: promises}
    broken: dict     # {event: of them}

    def verdict(self):
        """In one line."""
        if self.refused:
            return "NOT MOUNTABLE: " + " ".join(self.refused.split())
        return "DAMAGED: " + " ".join(self.damage.split()) if self.damage else "fsck clean"

    def __str__(self):
        return (f"{self.sectors['lost_sectors']} of {self.sectors['cut_sectors']} volatile sectors lost: {self.verdict()}, broken "
                + (", ".join(f"{name} {count}" for name, count in self.broken.items()) or "none"))


@dataclass
class Trial:
    """One moment."""
    case: str
    variant: str
    seconds: float   # from the first promise to the cut
    cuts: list

    def __str__(self):
        return f"after {self.seconds:.1f} s, {sum(self.cuts[0].made.values())} promises; " + "; ".join(map(str, self.cuts))


class PowercutResults(Results):
    """What is rare has a median of 0: a row is the sum over all cuts, as n says how many."""

    def add_trial(self, trial):
        for cut in trial.cuts:
            values = {"unmountable": int(bool(cut.refused)), "fsck": int(bool(cut.damage)), "made": sum(cut.made.values()),
                      **{event: cut.broken.get(event, 0) for event in EVENTS}}
            for metric, value in values.items():
                self.add(trial.case, self.disk.name, trial.variant, metric, UNITS.get(metric, "promises"), value)

    def rows(self):
        """In place of median, least and most."""
        totals = map(sum, self._values.values())
        return [row | {"median": total, "min": total, "max": total} for row, total in zip(super().rows(), totals)]

    def table(self):
        lines = {}
        for row in self.rows():
            lines.setdefault(f"{row['case']}, {row['variant']}, {row['n']} cuts", []).append(f"{row['metric']} {row['median']}")
        return "\n".join(["damaged file systems, promises and broken ones, all cuts together:",
                          *(f"{case}: {', '.join(values)}" for case, values in lines.items())])


def start(lab, variant, options):
    priced = VARIANTS[variant] is not None
    canfs.start_server(lab, priced, options, VARIANTS[variant])
    load = case_of(LOAD)
    program = program_for(lab, options)
    [client] = lab.start_clients(load.guests(program))
    run = Run(lab, load, client, LOAD_SECONDS, program)
    create(lab, [run])
    if priced:
        canfs.start_agents(lab, [client], options.agent)
    return client, run


def look(lab, client, seed, refused):
    """What a cut has left."""
    stat = lab.disk.stat()
    sectors = {key: stat[key] for key in ("cut_sectors", "lost_sectors")}
    if refused:
        return Cut(seed, sectors, refused, "", {}, {})
    made, broken = promises.kept(lab.disk.mount / DIRECTORY, heard(client))
    return Cut(seed, sectors, "", complaint(lab.disk.check_file_system), made, broken)


def run_trial(lab, number, case, variant, options):
    first, *others = range(number * CUTS, number * CUTS + (QUICK_CUTS if options.quick else CUTS))
    try:
        lab.disk.settings = replace(options.disk, filesystem=case)
        lab.disk.make_file_system()
        client, run = start(lab, variant, options)
        lab.disk.cold()
        run.go()
        wait_for(run.has_begun, SLACK_SECONDS, "filebench: starting its processes")
        launch([client.prepare("promises", JOB, lab.on_mount(DIRECTORY), THREADS)])
        wait_for(lambda: promises.promises(heard(client)), SLACK_SECONDS, "the first promise")
        seconds = random.Random(number).uniform(*CUT_SECONDS)
        time.sleep(seconds)
        run.check()
        cuts = [look(lab, client, first, complaint(lambda: lab.power_cut(first)))]
        cuts += [look(lab, client, seed, complaint(lambda seed=seed: lab.disk.power_cut_again(seed))) for seed in others]
        return Trial(case, variant, seconds, cuts)
    finally:
        lab.disk.control("mode=free")
        lab.stop_clients(is_orderly=False)
        lab.stop_server()


def heard(client):
    return client.console.read_text(encoding="utf-8", errors="replace")


def complaint(action):
    """What it failed with; "": it did not."""
    try:
        action()
    except (MountError, DamageError) as error:
        return str(error)
    return ""


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases, variants = chosen("case", options.cases, FILESYSTEMS), chosen("variant", options.variants, VARIANTS)
    return run_rounds(build, options, cases, variants, lambda *trial: run_trial(*trial, options),
                      PowercutResults(NAME, options.disk), say, keep)
