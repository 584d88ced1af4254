# SPDX-License-Identifier: LGPL-3.0-or-later
"""k-sensitivity (CA-NFS §4.1.2, Figure 6): what becomes of the throughput if k is not the one of the
table in pricing/market.c, but a sixteenth to sixteen times as much?

The workload is interference/held: one client reads at random in phases, another writes; both through
agents that act on the prices. Throughput is what the applications have moved, both together, until the last
of them is done (the writer through close). The reads are so much smaller than the writes that the sum hardly
shows them: they are rows of their own.

That workload drives the disk to both ends: the reader keeps its queue full or leaves it empty, and there the
price is 1 or 0 whatever k is. So it shows that a wrong k does no harm where congestion is plain; how dear the
disk should be when half busy, it does not tell.

Only the disk: in this lab nothing but the disk is ever short for two clients, and a resource that is not
the bottleneck has a k without effect, which would look like insensitivity. Its factors begin at 1/4, as
K_Disk does at 2."""

from dataclasses import dataclass, field

from bench.experiments import interference
from bench.lab.host import LabError
from bench.lab.lab import Lab
from bench.lab.report import RESULTS_DIRECTORY, Results

NAME = "k-sensitivity"
HELP = "throughput against k of the disk (CA-NFS Figure 6)"
RUNS = 1  # seven minutes each
DEVICE = "hdd"
BLOCK_BYTES = 8192  # of the reader
CHOSEN = {"disk": 8}  # pricing/market.c
OPTION = {"disk": "K_Disk"}
FACTORS = (0.25, 0.5, 1, 2, 4, 8, 16)
FACTORS_QUICK = (0.25, 1, 16)
NEAR = (0.5, 2)     # within these factors ...
NEAR_SHARE = 0.95   # ... there is at least this much of the best value
# The schedule of the workload bounds the throughput: what k could spoil shows in the reads first.
JUDGED = ("throughput", "reader_ops_per_s")


@dataclass
class Options:
    """What a person may vary; the defaults are the experiment."""
    runs: int = RUNS
    quick: bool = False
    cases: tuple = ()      # names; none: all
    variants: tuple = ()   # there is but one
    agent: dict = field(default_factory=dict)   # agent.conf
    server: dict = field(default_factory=dict)  # the CANFS { } block


def case_name(resource, factor):
    return f"{resource}-x{factor:g}"


class SensitivityResults(Results):
    """The table says whether k is well chosen."""

    def table(self):
        lines = [super().table(), ""]
        for resource, k in CHOSEN.items():
            for metric in JUDGED:
                values = {factor: value for factor in FACTORS if (value := self.median(
                    case_name(resource, factor), "canfs", metric)) is not None}
                near = [value for factor, value in values.items() if NEAR[0] <= factor <= NEAR[1]]
                if not near:
                    continue
                share = min(near) / max(values.values())
                lines.append(f"{resource}, k = {k}, {metric}: {'good' if share >= NEAR_SHARE else 'MISSED'}: "
                             f"within factors {NEAR[0]:g} to {NEAR[1]:g} at least {share:.3f} of the best, "
                             f"{NEAR_SHARE} is asked for")
        return "\n".join(lines)


def measure(trial, case):
    """{metric: (unit, value)}"""
    written = case.megabytes * 1e6
    read = trial.reader["ops"] * BLOCK_BYTES
    read_end = float(case.phases.rsplit("-", 1)[1])
    seconds = max(read_end, case.begin + trial.writer["seconds"])
    return {"throughput": ("MB/s", (read + written) / 1e6 / seconds),
            "reader_ops_per_s": ("1/s", trial.reader["ops_per_s"]),
            "reader_p99": ("ms", trial.reader["p99_ms"]),
            "close_seconds": ("s", trial.writer["close_seconds"])}


def plot(results):
    """A picture; says where it is, or why there is none."""
    try:
        import matplotlib  # noqa: PLC0415: optional
        matplotlib.use("Agg")
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        return f"picture: skipped: {error}"
    figure, axes = pyplot.subplots(figsize=(7, 4), constrained_layout=True)
    for resource, k in CHOSEN.items():
        for metric in JUDGED:
            points = [(factor, value) for factor in FACTORS if (value := results.median(
                case_name(resource, factor), "canfs", metric)) is not None]
            best = max(value for _, value in points)
            axes.plot([factor for factor, _ in points], [value / best for _, value in points],
                      marker="o", label=f"{resource} (k = {k}): {metric}")
    axes.set_xscale("log", base=2)
    axes.set_ylim(0, 1.05)
    axes.set_xlabel("k, times the chosen one")
    axes.set_ylabel("share of the best")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle("k-sensitivity (CA-NFS Figure 6)")
    RESULTS_DIRECTORY.mkdir(exist_ok=True)
    path = RESULTS_DIRECTORY / "k-sensitivity.png"
    figure.savefig(path, dpi=110)
    return f"picture: {path}"


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    names = [case_name(resource, factor) for resource in CHOSEN for factor in FACTORS]
    interference.check_names("case", options.cases, names)
    if not set(OPTION.values()).isdisjoint(options.server):
        raise LabError(f"--server: {', '.join(OPTION.values())}: the experiment sets it")
    workload = (interference.QUICK if options.quick else interference.FULL)[0]
    plan = [(resource, factor) for resource in CHOSEN
            for factor in (FACTORS_QUICK if options.quick and not options.cases else FACTORS)
            if not options.cases or case_name(resource, factor) in options.cases]
    results = SensitivityResults(NAME)
    say("setting up: network, modelled disk, a 4 GB file")
    with Lab(build) as lab:
        lab.disk.write_file("data", interference.DATA_MB)
        for number in range(options.runs):
            for resource, factor in plan:
                name = case_name(resource, factor)
                server = {OPTION[resource]: round(CHOSEN[resource] * factor)}
                trial = interference.run_trial(lab, workload, "canfs", interference.Options(
                    agent=options.agent, server=options.server | server))
                values = measure(trial, workload)
                for metric, (unit, value) in values.items():
                    results.add(name, DEVICE, "canfs", metric, unit, value)
                say(f"run {number + 1} of {options.runs}, {name}: "
                    f"{values['throughput'][1]:.1f} MB/s; {interference.summary(trial)}")
                if keep:
                    keep(trial)
    say(plot(results))
    return results
