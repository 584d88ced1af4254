# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a person may vary of an experiment; the defaults are the experiment. Not every experiment uses all of it."""

from dataclasses import dataclass, field

from bench.lab.disk import DiskSettings
from bench.lab.host import LabError


@dataclass
class Options:
    runs: int = 5
    quick: bool = False
    cases: tuple = ()     # names; none: all
    variants: tuple = ()  # names; none: all of the case
    agent: dict = field(default_factory=dict)   # agent.conf
    server: dict = field(default_factory=dict)  # the CANFS { } block
    disk: DiskSettings = DiskSettings()
    filebench: str = None  # the program, if not in PATH
    compare: bool = False  # run filebench and our program in turn
    first_run: int = 0     # its number: these runs go on from earlier ones

    def in_turn(self, variants, number):
        """Every other run goes the other way round: what a trial leaves behind for the next one meets all variants alike."""
        return variants if (self.first_run + number) % 2 == 0 else variants[::-1]


def check_names(what, names, allowed):
    for name in names:
        if name not in allowed:
            raise LabError(f"--{what} {name}: must be one of {', '.join(allowed)}")
