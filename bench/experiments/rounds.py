# SPDX-License-Identifier: LGPL-3.0-or-later
"""The order of trials: every case in every variant once, then all of it again, the variants the other way round. What drifts, on a
machine that others use as well, and what a trial leaves behind for the next one meets all variants alike."""

import time

from bench.experiments.options import check_names
from bench.lab.lab import Lab


def chosen(what, names, all_names):
    """Those of all_names that were asked for, in their own order; LabError if there is no such one."""
    check_names(what, names, list(all_names))
    return [name for name in all_names if not names or name in names]


def run_rounds(build, options, cases, variants, run_trial, results, say, keep, prepare=None):
    """run_trial(lab, number, case, variant) returns a trial, which results.add_trial() takes and str() sums up in a line.
    prepare(lab): what each round needs. Each has a new disk: it is in memory, and keeps what was written to files that
    are gone. say(text) reports progress; keep(trial), if given, gets every trial. Returns results."""
    begin, done, total = time.monotonic(), 0, options.runs * len(cases) * len(variants)
    for number in range(options.runs):
        with Lab(build, disk=options.disk) as lab:
            if prepare:
                prepare(lab)
            for case in cases:
                for variant in options.in_turn(variants, number):
                    trial = run_trial(lab, number, case, variant)
                    done += 1
                    left = (time.monotonic() - begin) / done * (total - done)
                    say(f"run {number + 1} of {options.runs}, {case}, {variant}: {trial} ({left / 60:.0f} min left)")
                    results.add_trial(trial)
                    if keep:
                        keep(trial)
    return results
