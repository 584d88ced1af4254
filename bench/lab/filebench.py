# SPDX-License-Identifier: LGPL-3.0-or-later
"""filebench (1.5-alpha3): its personalities as they are run here, the workload file made of one, and what its output says."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from bench.lab.host import LabError

PREFIX = Path(__file__).resolve().parents[2] / "build/filebench"
CLIENT = Path(__file__).with_name("filebench-client")
UPSTREAM = "https://github.com/filebench/filebench"
# What filebench itself does not count as an operation of the file system in its "IO Summary".
NO_FILE_OPERATIONS = {"block", "wakeup", "semblock", "sempost", "hog", "delay", "eventlimit", "bwlimit", "iopslimit", "opslimit",
                      "finishoncount", "finishonbytes", "print"}
# What it does count: the one only queues a write, done or not, the other waits for all that were queued.
ASYNCHRONOUS = {"aiowrite", "aiowait"}
NOT_COUNTED = NO_FILE_OPERATIONS | ASYNCHRONOUS


@dataclass(frozen=True)
class Personality:
    """One of filebench's own workload files, and the variables of it that are set. Everything else is as upstream has it."""
    name: str
    variables: dict
    numbers: dict = field(default_factory=dict)  # in the text, that no variable sets
    keeps_files: bool = False  # it neither creates nor deletes files, and its workload file says "reuse"
    seconds: int = 20


PERSONALITIES = {personality.name: personality for personality in (
    Personality("fileserver", {"nfiles": 400, "nthreads": 8}),  # of 128 KB on average
    Personality("varmail", {"nfiles": 400, "nthreads": 8}),     # 16 KB, as the next two
    Personality("webserver", {"nfiles": 400, "nthreads": 8}),
    Personality("webproxy", {"nfiles": 400, "nthreads": 8}),
    # A tenth of upstream's readers, of the writes in a batch, of the reads that let the next batch go, and of what a reader
    # computes between two reads: the processors of this machine, which all clients share, are not what is to be measured.
    # A batch takes two seconds: of twenty of them chance decides.
    Personality("oltp", {"nshadows": 20, "usermode": 20000, "filesize": "4m", "logfilesize": "4m"},
                {"iters=100": "iters=10", "value=1000,highwater=2000": "value=100,highwater=200",
                 "value=3200,highwater=1000": "value=320,highwater=100"}, keeps_files=True, seconds=60),
)}
# Each thread zeroes its buffers when it begins: 8 times upstream's 10 MB would be a third of a small guest.
MEMORY = "memsize=2m"
# Processes of one thread each become one process of many threads: to start 31 processes in each of 23 guests takes half a
# minute, during which some clients already run and others do not. (The shared memory of `useism` does not work with threads.)
PROCESSES = re.compile(r"(define process name=\w+,instances=)(\$\w+)(\s*\{\s*thread name=[\w-]+)")


def what_is_missing():
    if (PREFIX / "bin/filebench").exists():
        return None
    return f"filebench is not built: bench/setup --filebench SOURCE does it, with sources from {UPSTREAM}"


def upstream_text(name):
    return (PREFIX / "share/filebench/workloads" / f"{name}.f").read_text(encoding="utf-8")


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


@dataclass
class Flowop:
    """What one step of the workload did; latencies in ms."""
    ops: int = 0
    ops_per_s: float = 0
    total_ms: float = 0
    max_ms: float = 0
    histogram: list = field(default_factory=list)  # [i]: operations that took 2^(i-1) to 2^i ns

    def add(self, other):
        longer, shorter = sorted((self.histogram, other.histogram), key=len, reverse=True)
        return Flowop(self.ops + other.ops, self.ops_per_s + other.ops_per_s, self.total_ms + other.total_ms,
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
        return {"ops": self.ops, "ops_per_s": self.ops_per_s, "mean_ms": self.total_ms / self.ops if self.ops else None,
                "p50_ms": self.percentile_ms(0.5), "p99_ms": self.percentile_ms(0.99), "max_ms": self.max_ms}


def merged(flowops):
    total = Flowop()
    for flowop in flowops:
        total = total.add(flowop)
    return total


LINE = re.compile(r"^(?P<name>[\w-]+) +(?P<ops>\d+)ops +(?P<rate>\d+)ops/s +[\d.]+mb/s +(?P<mean>[\d.]+)ms/op "
                  r"\[ *[\d.]+ms - +(?P<max>[\d.]+)ms\]\s*\[(?P<histogram>[ \d]*)\]$", re.MULTILINE)
SUMMARY = re.compile(r"IO Summary: +(\d+) ops +([\d.]+) ops/s")


def parse(output):
    """{name: Flowop} of what filebench has printed."""
    summary = SUMMARY.search(output)
    if not summary:
        raise LabError(f"filebench printed no result, but: {' '.join(output.split())[-200:]}")
    count, rate = int(summary[1]), float(summary[2])
    seconds = count / rate if rate else 0
    flowops = {}
    for match in LINE.finditer(output):
        ops = int(match["ops"])
        flowops[match["name"]] = Flowop(ops, ops / seconds if seconds else 0, ops * float(match["mean"]), float(match["max"]),
                                        [int(word) for word in match["histogram"].split()])
    return flowops
