# SPDX-License-Identifier: LGPL-3.0-or-later
"""The reading experiments: what the server's read-ahead and disk scheduling do, against stock and the best static
read_ahead_kb (reading.py). Figures and tables are those of Ellard & Seltzer 2003.

readers    concurrent readers, each of a file (§4.2, Figures 1 and 6); of one file; of a real kernel client
stride     one reader, 2, 4 or 8 sequential streams in turn (Table 1); every second block
reorder    a sequential reader whose requests are out of order (§6); a busy client
backwards  one reader, from the end to the beginning
random     what no read-ahead can help, and many hurt
mixed      eight sequential readers, and one at random, which has to wait for them; the same by Lag_Kib
scheduler  eight readers, each policy: which ends when (Figure 3); also with tagged queueing
transport  TCP and UDP, with and without tagged queueing (Figures 4 and 5)
zones      the outermost and the innermost zone of the disk, with and without tagged queueing, local and over NFS (Figures 1 and 2)
heuristics readers that are not quite in order, and a table of active files that is too small (Figures 6 and 7)

Figures 6 and 7 compare heuristics of one nfsd. Of these CANFS has no switch, and no imitation is built here: its cursors are SlowDown with
a table of the size that is asked for (Prefetch_Files, at least 64). "Always read-ahead", the most that any heuristic could give, are the
same readers in order (`in-order-N`): they leave nothing to a heuristic. "Default read-ahead" is stock, Linux's own: a file that is read out
of order loses some of its window there, not a count. What tolerance and cursors are worth is computed without the lab, see ablation.py.

The paper's files are 256 MB in all, which took its disks some 7 s at best. Ours is four to five times as fast, and has four
times as much to read; less where it is slow."""

from bench.experiments.figure import Asked
from bench.experiments.reading import ALL_VARIANTS, LOCAL, VARIANTS, Case, Reading, Readers
from bench.experiments.reading_plot import by_readers, finishes
from bench.lab.disk import INNER_ZONE, OUTER_ZONE

POLICIES = ("fifo", "elevator", "n-cscan")
NOT_BELOW = 0.98  # which is what two medians of five runs can tell apart
# Prefetched and not used; processor time of the server.
HONEST = (Asked("waste", "at most", 0.05), Asked("cpu_per_mb", "at most", 1.1, "stock"))
NEVER_WORSE = (Asked("throughput", "at least", NOT_BELOW, "stock"),
               Asked("throughput", "at least", NOT_BELOW, "best-static"))
# Of knfsd alone: what its guest has of the disk, and what it gives from its cache.
OF_GUEST = ("disk_of_limit", "path")
ALWAYS = ("throughput", "of_limit", "p50", "p99", "max", "waste", "cpu_per_mb", *OF_GUEST)
BARS = ("throughput", "waste")


def of_limit(share, *cases):
    return tuple(Asked("of_limit", "at least", share, case=case) for case in cases)


def stock_times(factor, *cases):
    return tuple(Asked("throughput", "at least", factor, "stock", case) for case in cases)


READERS = tuple(f"readers-{n}" for n in (2, 4, 8, 16, 32))
STRIDES = ("stride-2", "stride-4", "stride-8")
NUMBERS = (1, 2, 4, 8, 16, 32)  # of readers, in the paper's figures
QUICK_NUMBERS = (1, 8)
# Without tags, the reads are in the order of the host's scheduler; with them, in the disk's own.
TAGS = {"tags": "hdd-ncq", "no-tags": "hdd"}
PLACES = {"outer": OUTER_ZONE, "inner": INNER_ZONE}
ZONES = tuple(f"{place}-{tags}" for place in PLACES for tags in TAGS)
RANDOM_READER = Readers(pattern="random", block_kib=8, depth=1)
LAGS_MIB = (1, 2, 4, 8, 16, 32)  # what eight streams may read while another read waits: the curve of share against latency
AMONG_MANY = 128  # readers, of whom the smallest table can hold half

READINGS = (
    Reading(
        "readers", "1 to 32 concurrent sequential readers (Ellard & Seltzer Figures 1 and 6)",
        (*(Case(f"readers-{n}", 1024, Readers(files=n), in_quick=n not in (4, 16)) for n in (1, 2, 4, 8, 16, 32)),
         Case("shared-8", 1024, Readers(sharers=8)),
         *(Case(f"kernel-readers-{n}", 512, Readers(files=n, kernel=True), in_quick=n > 2) for n in (2, 8))),
        ALWAYS, (*of_limit(0.8, *READERS), *NEVER_WORSE, *HONEST), BARS),
    Reading(
        "stride", "one reader, 2 to 8 sequential streams in turn (Ellard & Seltzer Table 1)",
        (*(Case(name, 1024, Readers(pattern=name)) for name in STRIDES),
         Case("one-of-2", 512, Readers(pattern="one-of-2"))),
        ALWAYS, (*of_limit(0.85, *STRIDES), *stock_times(4, *STRIDES), *NEVER_WORSE, *HONEST), BARS),
    Reading(
        "reorder", "a sequential reader whose requests come out of order (Ellard & Seltzer §6)",
        (*(Case(f"swap-{p}", 512, Readers(pattern=f"swap-{p}")) for p in (2, 6, 10)),
         *(Case(f"shuffle-{w}", 512, Readers(pattern=f"shuffle-{w}")) for w in (8, 32)),
         Case("busy-client", 512, Readers(files=4, kernel=True, busy=4))),
        ALWAYS, (*of_limit(0.95, "shuffle-8", "shuffle-32"), *NEVER_WORSE, *HONEST), BARS),
    Reading(
        "backwards", "one reader, from the end to the beginning",
        (Case("backwards", 192, Readers(pattern="backwards")),),
        ALWAYS, (*of_limit(0.8, "backwards"), *NEVER_WORSE, *HONEST), BARS),
    Reading(
        "random", "reads that no read-ahead can help",
        (Case("random", 1024, Readers(pattern="random", reads=4000)),
         Case("random-8k", 1024, Readers(pattern="random", reads=1500, block_kib=8, depth=1))),
        ALWAYS, (*NEVER_WORSE, *HONEST), BARS),
    Reading(
        "mixed", "eight sequential readers and one at random, which has to wait for them",
        (Case("mixed", 512, Readers(files=8), beside=RANDOM_READER, beside_name="random"),
         *(Case(f"mixed-lag-{mib}", 512, Readers(files=8), beside=RANDOM_READER, beside_name="random", variants=("canfs",),
                server={"Lag_Kib": mib * 1024 // 8}, in_quick=False) for mib in LAGS_MIB)),
        ALWAYS, (Asked("throughput", "at least", 0.8, "stock", "mixed-sequential"), Asked("max", "at most", 0.4, "stock", "mixed-random"), *HONEST),
        ("throughput", "p50", "max")),
    Reading(
        "scheduler", "eight readers, each policy of the disk scheduler: which ends when (Ellard & Seltzer Figure 3)",
        (Case("kernel", 1024, Readers(files=8), variants=(LOCAL, "stock", "best-static", "knfsd")),
         *(Case(policy, 1024, Readers(files=8), variants=("canfs",), server={"Scheduler": policy})
           for policy in POLICIES),
         Case("kernel-tags", 1024, Readers(files=8), variants=(LOCAL, "stock"), device=TAGS["tags"], in_quick=False),
         *(Case(f"{policy}-tags", 1024, Readers(files=8), variants=("canfs",), server={"Scheduler": policy}, device=TAGS["tags"],
                in_quick=False) for policy in POLICIES)),
        ("throughput", "of_limit", "first_seconds", "last_seconds", "last_over_first", "p50", "p99", "max",
         *OF_GUEST),
        (Asked("throughput", "at least", 0.85, of_case="elevator", case="n-cscan"),
         Asked("last_over_first", "at most", 1.3, case="n-cscan")),
        (finishes(False), finishes(True), "throughput", "max"),
        # Streams that are alone on a disk that takes many commands are left to the kernel, whatever the policy; and in the paper,
        # too, a tagged queue hides what the policies do (§5.3).
        DEFAULT_DEVICE="hdd"),
    Reading(
        "transport", "NFSv3 over TCP and UDP (Ellard & Seltzer Figures 4 and 5)",
        # Over UDP, Ganesha 4.3 answers no more when its cgroup is full: these fit.
        (*(Case(f"{name}-{n}", 256, Readers(files=n, block_kib=32, udp=name == "udp"),
                variants=VARIANTS if name == "udp" else ALL_VARIANTS)  # the kernel's server is one of TCP
           for n in (1, 4, 16) for name in ("tcp", "udp")),
         *(Case(f"{name}-no-tags-{n}", 256, Readers(files=n, block_kib=32, udp=name == "udp"), variants=("stock", "canfs"),
                device=TAGS["no-tags"], in_quick=False)
           for n in (1, 4, 16) for name in ("tcp", "udp"))),
        ALWAYS, (*NEVER_WORSE, *HONEST),
        (by_readers("udp", "udp-no-tags"), by_readers("tcp", "tcp-no-tags"), "waste")),
    Reading(
        "zones", "1 to 32 readers in the outermost and the innermost zone, with and without tags (Ellard & Seltzer Figures 1 and 2)",
        tuple(Case(f"{place}-{tags}-{n}", 512, Readers(files=n), variants=(LOCAL, "stock", "canfs"), device=device, zone=zone,
                   in_quick=n in QUICK_NUMBERS)
              for place, zone in PLACES.items() for tags, device in TAGS.items() for n in NUMBERS),
        ("throughput", "of_limit", "last_over_first", "max"), (Asked("throughput", "at least", NOT_BELOW, "stock"),),
        tuple(by_readers(*ZONES, variants=(variant,)) for variant in (LOCAL, "stock", "canfs")),
        DISK_OPTIONS_REFUSED=("device", "filesystem")),
    Reading(
        "heuristics", "readers of whose requests 6 % are out of order, and a small table (Ellard & Seltzer Figures 6 and 7)",
        (*(Case(f"{name}-{n}", 512, Readers(files=n, pattern=pattern), variants=("stock", "canfs"), in_quick=n in (8, AMONG_MANY))
           for n in (*NUMBERS, AMONG_MANY) for name, pattern in (("in-order", "sequential"), ("reordered", "swap-6"))),
         *(Case(f"small-table-{n}", 512, Readers(files=n, pattern="swap-6"), variants=("canfs",), server={"Prefetch_Files": 64},
                in_quick=n == AMONG_MANY) for n in (8, 32, AMONG_MANY)),
         *(Case(f"{name}-client-{n}", 512, Readers(files=n, kernel=True, busy=busy), variants=("stock", "canfs"), in_quick=False)
           for n in (1, 4, 16) for name, busy in (("idle", 0), ("busy", 4)))),
        ALWAYS,
        (*(Asked("throughput", "at least", 0.95, case=f"reordered-{n}", of_case=f"in-order-{n}") for n in NUMBERS),
         Asked("throughput", "at least", NOT_BELOW, "stock")),
        (by_readers("in-order", "reordered", "small-table"), by_readers("idle-client", "busy-client"), "waste")),
)
