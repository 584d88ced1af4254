# SPDX-License-Identifier: LGPL-3.0-or-later
"""micro: nanoseconds per call of what the server and the agent do often, warm, on one processor;
fsal_read2-BLOCK-CACHE-xTHREADS: all that CANFS adds to one READ."""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.experiments.options import Options
from bench.lab.host import LabError, run as run_command
from bench.lab.report import Results

NAME = "micro"
HELP = "nanoseconds per call: prices, tags, auction, monitors, parsers"
DISK_OPTIONS_REFUSED = ("device", "scheduler", "filesystem", "backend")
RUNS_MIN = 5  # the default of bench/run for --quick is too few for a median


def what_is_missing():
    """It needs neither root nor the lab."""


def measure(program, options):
    """{function: [nanoseconds]}"""
    seconds = 0.02 if options.quick else 0.1
    return json.loads(run_command(program, max(options.runs, RUNS_MIN), seconds, timeout=300))


def run(build, options, say, keep=None):
    programs = Path(build).resolve() / "bench"
    if not (programs / "canfs-micro").exists():
        raise LabError(f"{programs}/canfs-micro is not built")
    results = Results(NAME)
    for name in ("canfs-micro", "canfs-micro-read"):
        if not (programs / name).exists():
            say(f"{name} is not built (it needs the plugin): left out")
            continue
        say(f"measuring: {name}")
        for function, values in measure(programs / name, options).items():
            if not options.cases or function in options.cases:
                for value in values:
                    results.add(function, "none", "canfs", "ns_per_op", "ns", value)
    return results
