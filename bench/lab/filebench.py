# SPDX-License-Identifier: LGPL-3.0-or-later
"""filebench's personalities, run by an installed filebench (1.5-alpha3) or by our own program; parses the output of either."""

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from bench.lab.host import LabError

CLIENT = Path(__file__).with_name("filebench-client")
OURS = "canfs-job-personality"
# What filebench itself does not count as an operation of the file system in its "IO Summary".
NO_FILE_OPERATIONS = {"block", "wakeup", "semblock", "sempost", "hog", "delay", "eventlimit", "bwlimit", "iopslimit", "opslimit",
                      "finishoncount", "finishonbytes", "print"}
# Not counted as operations: the one only queues a write, the other forgets completed writes.
ASYNCHRONOUS = {"aiowrite", "aiowait"}
NOT_COUNTED = NO_FILE_OPERATIONS | ASYNCHRONOUS


@dataclass(frozen=True)
class Personality:
    """One of filebench's own workload files, the variables of it that are set, and the same as options of our program.
    Everything else is as upstream has it."""
    name: str
    variables: dict
    options: tuple
    numbers: dict = field(default_factory=dict)  # in the text, that no variable sets
    keeps_files: bool = False  # it neither creates nor deletes files, and its workload file says "reuse"
    seconds: int = 20
    warm_up_seconds: int = 0   # of our program only


def of_files(name, **more):
    """400 files, 8 threads."""
    return Personality(name, {"nfiles": 400, "nthreads": 8}, ("--files", 400, "--threads", 8), **more)


PERSONALITIES = {personality.name: personality for personality in (
    of_files("fileserver"),  # of 128 KB on average
    of_files("varmail"),     # 16 KB, as the next two
    # It appends to a log alone, which the kernel writes back after 30 s. A shorter run would not count that work of stock.
    of_files("webserver", warm_up_seconds=35),
    of_files("webproxy"),
    # A tenth of upstream's readers, of the writes in a batch, of the reads that let the next batch go, and of what a reader
    # computes between two reads: the processors of this machine, which all clients share, are not what is to be measured.
    # A batch takes two seconds: of twenty of them chance decides.
    Personality("oltp", {"nshadows": 20, "usermode": 20000, "filesize": "4m", "logfilesize": "4m"},
                ("--threads", 20, "--file-kib", 4096),
                {"iters=100": "iters=10", "value=1000,highwater=2000": "value=100,highwater=200",
                 "value=3200,highwater=1000": "value=320,highwater=100"}, keeps_files=True, seconds=60),
)}
# Each thread zeroes its buffers when it begins: 8 times upstream's 10 MB would be a third of a small guest.
MEMORY = "memsize=2m"
# Processes of one thread each become one process of many threads: to start 31 processes in each of 23 guests takes half a
# minute, during which some clients already run and others do not. (The shared memory of `useism` does not work with threads.)
PROCESSES = re.compile(r"(define process name=\w+,instances=)(\$\w+)(\s*\{\s*thread name=[\w-]+)")


def workload(personality, text, directory, seconds):
    """The file to run: text, which filebench has installed, with the personality's variables."""
    for name, value in (personality.variables | {"dir": directory}).items():
        text, found = re.subn(rf"^set \${name}=.*$", f"set ${name}={value}", text, flags=re.MULTILINE)
        if not found:
            raise LabError(f"filebench's {personality.name}.f has no variable {name}")
    for upstream, ours in personality.numbers.items():
        if upstream not in text:
            raise LabError(f"filebench's {personality.name}.f has no {upstream}")
        text = text.replace(upstream, ours)
    text = re.sub(r"memsize=\d+m", MEMORY, text)
    text = PROCESSES.sub(r"\g<1>1\3,instances=\2", text).replace(",useism", "")
    text = re.sub(r"^\s*(ps)?run\b.*$", "", text, flags=re.MULTILINE)
    # What `run` would do at once, with a pause between files and processes.
    return (f'{text}\nenable lathist\ncreate files\nsystem "{CLIENT} --ready"\nrun {seconds}\n')


def kinds(text):
    """{name of a flowop: its type}"""
    return {name: kind for kind, name in re.findall(r"flowop\s+(\w+)\s+name=([\w-]+)", text)}


class Upstream:
    """filebench itself."""
    name = "filebench"
    begun, measured = "Running...", "IO Summary"  # what it prints
    # Additional memory of a guest: filebench zeroes tables of a million files, in the tmpfs that filebench-client mounts.
    memory_mib = 192

    def __init__(self, program):
        self.program = Path(program).resolve()
        self.workloads = self.program.parent.parent / "share/filebench/workloads"
        if not self.program.is_file():
            raise LabError(f"--filebench {program}: there is no such file")
        if not (self.workloads / "fileserver.f").is_file():
            raise LabError(f"{self.program}: its personalities are not in {self.workloads}")

    def describe(self):
        return f"by {self.program}"

    def text(self, personality):
        return (self.workloads / f"{personality.name}.f").read_text(encoding="utf-8")

    def command(self, personality, client, directory, seconds, _):
        """directory: of the files, in the guest. It cannot warm up."""
        script = client.directory / "workload.f"
        script.write_text(workload(personality, self.text(personality), directory, seconds), encoding="utf-8")
        return CLIENT, self.program, "-f", script

    def parse(self, personality, output):
        return parse(output, kinds(self.text(personality)))


class Ours:
    """bench/jobs/personality.c"""
    name = "ours"
    begun, measured = "Running...", '"seconds":'
    memory_mib = 0

    def __init__(self, program):
        self.program = Path(program)

    def describe(self):
        return f"by {OURS} (bench/jobs/personality.c), our own program of filebench's personalities"

    def command(self, personality, _, directory, seconds, warm_up_seconds):
        return (CLIENT, self.program, "--seconds", seconds, "--warm-up", warm_up_seconds, "--ready", f"{CLIENT} --ready",
                *personality.options, personality.name, directory)

    def parse(self, _, output):
        return parse_ours(output)


def installed(asked=None):
    """The filebench in PATH, or the requested one; None: there is none."""
    program = asked or shutil.which("filebench")
    return Upstream(program) if program else None


def program_for(lab, options):
    return installed(options.filebench) or Ours(lab.program(OURS))


@dataclass
class Flowop:
    """What one step of the workload did; latencies in ms."""
    kind: str = ""
    ops: int = 0
    ops_per_s: float = 0
    total_ms: float = 0
    max_ms: float = 0
    histogram: list = field(default_factory=list)  # [i]: operations that took 2^(i-1) to 2^i ns

    def add(self, other):
        longer, shorter = sorted((self.histogram, other.histogram), key=len, reverse=True)
        return Flowop(self.kind, self.ops + other.ops, self.ops_per_s + other.ops_per_s, self.total_ms + other.total_ms,
                      max(self.max_ms, other.max_ms),
                      [count + (shorter[place] if place < len(shorter) else 0) for place, count in enumerate(longer)])

    def percentile_ms(self, share):
        """Interpolated within the power of two; None without operations."""
        left = share * sum(self.histogram)
        for place, count in enumerate(self.histogram):
            if count and left <= count:
                low, high = (2 ** (place - 1) if place else 0) / 1e6, 2 ** place / 1e6
                return low + (max(low, min(high, self.max_ms)) - low) * left / count
            left -= count
        return None

    def summary(self):
        """For the raw results."""
        return {"kind": self.kind, "ops": self.ops, "ops_per_s": self.ops_per_s, "mean_ms": self.total_ms / self.ops if self.ops else None,
                "p50_ms": self.percentile_ms(0.5), "p99_ms": self.percentile_ms(0.99), "max_ms": self.max_ms}


def merged(flowops):
    total = Flowop()
    for flowop in flowops:
        total = total.add(flowop)
    return total


LINE = re.compile(r"^(?P<name>[\w-]+) +(?P<ops>\d+)ops +(?P<rate>\d+)ops/s +[\d.]+mb/s +(?P<mean>[\d.]+)ms/op "
                  r"\[ *[\d.]+ms - +(?P<max>[\d.]+)ms\]\s*\[(?P<histogram>[ \d]*)\]$", re.MULTILINE)
SUMMARY = re.compile(r"IO Summary: +(\d+) ops +([\d.]+) ops/s")


def parse(output, kinds_of):
    """{name: Flowop} from the output of filebench; kinds_of: {name: kind}."""
    summary = SUMMARY.search(output)
    if not summary:
        raise LabError(f"filebench printed no result, but: {' '.join(output.split())[-200:]}")
    count, rate = int(summary[1]), float(summary[2])
    seconds = count / rate if rate else 0
    flowops = {}
    for match in LINE.finditer(output):
        ops = int(match["ops"])
        flowops[match["name"]] = Flowop(kinds_of[match["name"]], ops, ops / seconds if seconds else 0, ops * float(match["mean"]), float(match["max"]),
                                        [int(word) for word in match["histogram"].split()])
    return flowops


def parse_ours(output):
    """{name: Flowop} from the output of canfs-job-personality."""
    result = json.loads(output.splitlines()[-1])
    return {step["name"]: Flowop(step["kind"], step["ops"], step["ops"] / result["seconds"], step["total_ms"], step["max_ms"],
                                 step["histogram"]) for step in result["steps"]}
