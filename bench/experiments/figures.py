# SPDX-License-Identifier: LGPL-3.0-or-later
"""The figures: what canfs does for one client's own work, against stock and the best static setting (figure.py).

copy           CA-NFS Figure 2: one client copies a tree of files from 1 KB to 200 MB
accelerate     Figure 3: a big write beside re-reads of a cached file
writeback-cdf  Figure 8: how long data is held until it is on the server's disk, and how evenly it goes there
burst          Figure 10: two clients write at full speed for 15 s, more than their memory holds
overzealous    tuning talk: what read-ahead makes of random reads from many threads
rewrite        FreeBSD thread: rewriting whole pages must not read them first

Scaled to guests: memory, files and rates by the same factor, so that what fills what stays as it was."""

import json
import math
import os
import random
import threading

from bench.experiments import write_back
from bench.experiments.figure import VARIANTS, Asked, Figure
from bench.lab.lab import Guest

SEED = 7
MB = 1_000_000
NEVER_WORSE = 0.95  # than the best static setting, each of them


def best_static(metric, sense="at least"):
    return Asked(metric, sense, NEVER_WORSE if sense == "at least" else round(2 - NEVER_WORSE, 2), "best-static")


def make_data(lab, plan):
    lab.disk.write_file("data", plan.data_mb)


# copy

def tree(plan):
    """[bytes]: as many small files as large ones, on a logarithmic scale; always the same."""
    chance, sizes = random.Random(SEED), []
    while sum(sizes) < plan.tree_mb * MB:
        sizes.append(int(math.exp(chance.uniform(math.log(1000), math.log(plan.largest_mb * MB)))))
    return sizes


def make_tree(lab, plan):
    lab.disk.control("mode=free")
    block = random.Random(SEED).randbytes(MB)  # zeros would be cheaper than data
    for number, size in enumerate(tree(plan)):
        path = lab.disk.mount / "tree" / str(number // plan.files_each) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            while size > 0:
                size -= file.write(block[:size])
    os.sync()


def reset_tree(lab, plan):
    """On a new file system: on one that was used the copies come to lie all over the disk, whose model keeps what was ever written."""
    lab.disk.make_file_system()
    make_tree(lab, plan)


COPY = 'set -e; begin=$EPOCHREALTIME; cp -r "$1" "$2"; echo "[$begin, $EPOCHREALTIME]"'


def copy(session):
    begin, end = json.loads(session.run(session.clients[0], "bash", "-c", COPY, "bash", session.lab.on_mount("tree"),
                                        session.lab.on_mount("out")))
    return {"tree": {"seconds": end - begin}}


# accelerate

def accelerate(session):
    """The file is read until the kernel takes it for active, as it would be after some time of use."""
    client, plan = session.clients[0], session.plan
    data, out = session.lab.on_mount("data"), session.lab.on_mount("out")
    session.run(client, "sh", "-c", 'cat "$1" "$1" "$1" >/dev/null', "sh", data)
    before = session.counters(client)
    reader, writer = session.together(
        session.prepare(client, "canfs-job-read", "--block-kib", plan.block_kib, "--seed", SEED, "--phases", "0-200",
                        "--ops", plan.reads, data),
        session.prepare(client, "canfs-job-write", "--mb", plan.write_mb, out))
    after = session.counters(client)
    hit_rate = 1 - (after["fetched_bytes"] - before["fetched_bytes"]) / (after["read_bytes"] - before["read_bytes"])
    return {"reread": {"hit_rate": max(0.0, hit_rate), "seconds": reader["busy_seconds"]},
            "write": {"seconds": writer["seconds"]}}


# writeback-cdf

def writeback(session):
    """A reader that is busy now and then, as in Figure 4: there are good and bad times to send."""
    plan, (a, b) = session.plan, session.clients
    reader, writer = session.together(
        session.prepare(a, "canfs-job-read", "--direct", "--phases", plan.phases, "--seed", SEED,
                        session.lab.on_mount("data")),
        session.prepare(b, "canfs-job-write", "--mb", plan.rate_mb * plan.seconds, "--rate-mb", plan.rate_mb,
                        "--close-at", plan.close_at, session.lab.on_mount("out")))
    history = write_back.History(session.counted()["b"])
    session.details["delays"] = delays = history.delays()
    session.details["committed"] = history.committed_by_second()
    return {"writer": {"p50": 1e3 * write_back.quantile(delays, 0.5), "p99": 1e3 * write_back.quantile(delays, 0.99),
                       "peak_over_mean": history.peak_over_mean(), "close_seconds": writer["close_seconds"]},
            "reader": {"ops_per_s": reader["ops_per_s"], "p99": reader["p99_ms"]}}


# burst

def burst(session):
    """What is left when the writers close is not timed, and sent at once."""
    plan, lab = session.plan, session.lab
    lab.disk.control(f"scale={plan.disk_scale}")
    end = threading.Timer(plan.seconds + 1, lab.disk.control, ("scale=1 mode=free",))
    writers = session.together(
        *(session.prepare(client, "canfs-job-write", "--mb", 1e5, "--rate-mb", plan.rate_mb, "--seconds", plan.seconds,
                          "--blocked-ms", plan.blocked_ms, "--close-at", plan.seconds + 1, "--seed", number,
                          lab.on_mount(f"out-{number}"))
          for number, client in enumerate(session.clients)), meanwhile=end.start)
    end.join()
    blocks = [writer["first_block_seconds"] for writer in writers if writer["blocked_writes"]]
    return {"two-writers": {"bytes": sum(writer["bytes"] for writer in writers),
                            "first_block_seconds": min(blocks, default=plan.seconds),
                            "blocked_writes": sum(writer["blocked_writes"] for writer in writers),
                            "write_max": max(writer["write_max_ms"] for writer in writers)}}


# overzealous

def random_readers(threads, records_kib):
    """{case: (threads, KiB of a read)}"""
    return {f"threads-{n}": (n, 8) for n in threads} | {f"threads-4-record-{kib}k": (4, kib) for kib in records_kib}


def overzealous(session):
    client, plan, values = session.clients[0], session.plan, {}
    for case, (threads, kib) in random_readers(plan.threads, plan.records_kib).items():
        if not session.wants(case):
            continue
        session.forget(client)
        before = session.counters(client)
        reader = json.loads(session.run(
            client, "canfs-job-read", "--threads", threads, "--block-kib", kib, "--phases", f"0-{plan.seconds}", "--seed",
            SEED + 10000 * threads + kib - 8, session.lab.on_mount("data")))
        after = session.counters(client)
        values[case] = {
            "bytes_per_byte": (after["fetched_bytes"] - before["fetched_bytes"]) /
                              (after["read_bytes"] - before["read_bytes"]),
            "ops_per_s": reader["ops_per_s"]}
    return values


# rewrite

def make_rewritten(lab, plan):
    """Longer than what is rewritten, which is whole pages: half a page must be read, and rightly so."""
    for kib in plan.wsize_kib:
        lab.disk.write_file(f"rewritten-{kib}", math.ceil(plan.file_mb) + 1)


# {case: (KiB of wsize, options, KiB of a write)}
REWRITES = {f"{pattern}-wsize-{kib}k": (kib, option, 4) for kib in (4, 8, 64)
            for pattern, option in (("sequential", ()), ("random", ("--random",)))} | \
           {f"sequential-wsize-64k-record-{kib}k": (64, (), kib) for kib in (1, 2, 32)}
# With 1 and 2 KB the client must read a page before it can change a part of it: it cannot know that the rest comes, too.
PARTS_OF_PAGES = ("sequential-wsize-64k-record-1k", "sequential-wsize-64k-record-2k")


def rewrite(session):
    plan, values, client_of = session.plan, {}, dict(zip(session.plan.wsize_kib, session.clients))
    for case, (wsize_kib, option, kib) in REWRITES.items():
        if not session.wants(case):
            continue
        client = client_of[wsize_kib]
        session.forget(client)
        before = session.counters(client)
        writer = json.loads(session.run(
            client, "canfs-job-write", "--rewrite", *option, "--block-kib", kib, "--mb", plan.file_mb,
            session.lab.on_mount(f"rewritten-{wsize_kib}")))
        values[case] = {"server_reads": session.counters(client)["READ"] - before["READ"],
                        "throughput": writer["bytes"] / MB / writer["seconds"]}
    return values


def mean_of(metric):
    """Over all cases; geometric, or one case would be all that counts."""
    def mean(values):
        logs = [math.log(metrics[metric]) for metrics in values.values()]
        return math.exp(sum(logs) / len(logs))
    return mean


FIGURES = (
    Figure(
        "copy", "one client copies a tree of files of 1 KB to 200 MB, scaled (CA-NFS Figure 2)",
        lambda lab, plan: None, lambda plan: [Guest("a", plan.guest_mib)], copy, reset=reset_tree,
        units={"seconds": "s"},
        knobs=("dirty", "read_ahead_kib"), cost=lambda values: values["tree"]["seconds"],
        asked=(Asked("seconds", "at most", 0.85, "stock"), Asked("seconds", "at most", 1, "best-static")),
        panels=("seconds", "held", "sent"),
        variants=(*VARIANTS, "canfs-write-only", "canfs-read-ahead-only"),
        full={"files": "a tree of 2 GB", "cases": ("tree",), "guest_mib": 1024, "tree_mb": 2000, "largest_mb": 100,
              "files_each": 20},
        quick={"files": "a tree of 160 MB", "guest_mib": 256, "tree_mb": 160, "largest_mb": 25}),
    Figure(
        "accelerate", "a big write beside re-reads of a cached file (CA-NFS Figure 3)",
        make_data, lambda plan: [Guest("a", plan.guest_mib)], accelerate,
        units={"hit_rate": "1", "seconds": "s"},
        knobs=("dirty", "read_ahead_kib"), cost=lambda values: values["reread"]["seconds"],
        asked=(Asked("hit_rate", "at least", 0.9), Asked("seconds", "at most", 0.79, "stock", "reread"),
               best_static("seconds", "at most")),
        panels=("hit_rate", "seconds", "held", "sent"),
        full={"files": "the file that is re-read", "cases": ("reread", "write"), "guest_mib": 512, "data_mb": 380,
              "write_mb": 1000, "block_kib": 64, "reads": 25_000},
        quick={"guest_mib": 256, "data_mb": 165, "write_mb": 200, "reads": 5000}),
    Figure(
        "writeback-cdf", "how long and how evenly data is held back (CA-NFS Figure 8)",
        make_data, lambda plan: [Guest("a", 512), Guest("b", plan.guest_mib)], writeback,
        units={"p50": "ms", "p99": "ms", "peak_over_mean": "1", "close_seconds": "s", "ops_per_s": "1/s"},
        knobs=("dirty",), cost=lambda values: values["writer"]["peak_over_mean"],
        asked=(Asked("peak_over_mean", "at most", 3), best_static("ops_per_s")),
        panels=("cdf", "committed", "held"),
        full={"files": "a file of 4 GB", "cases": ("writer",), "guest_mib": 1024, "data_mb": 4000, "rate_mb": 5,
              "seconds": 45, "close_at": 60, "phases": "0-15,25-40,50-60"},
        quick={"guest_mib": 512, "data_mb": 1000, "files": "a file of 1 GB", "rate_mb": 10, "seconds": 9, "close_at": 11,
               "phases": "0-4,6-9"}),
    Figure(
        "burst", "two clients write more than their memory holds (CA-NFS Figure 10)",
        lambda lab, plan: None, lambda plan: [Guest(name, plan.guest_mib) for name in ("a", "b")], burst,
        units={"bytes": "bytes", "first_block_seconds": "s", "blocked_writes": "1", "write_max": "ms"},
        knobs=("dirty",), cost=lambda values: -values["two-writers"]["bytes"],
        asked=(Asked("first_block_seconds", "at least", 4, "stock"), Asked("bytes", "at least", 1.23, "stock"),
               best_static("bytes"), best_static("first_block_seconds")),
        panels=("held", "written", "first_block_seconds", "bytes"),
        full={"files": "no files", "cases": ("two-writers",), "guest_mib": 400, "rate_mb": 40, "seconds": 15,
              "blocked_ms": 100, "disk_scale": 0.25},
        quick={"guest_mib": 256, "rate_mb": 50, "seconds": 7.5}),
    Figure(
        "overzealous", "NFS bytes per byte of random reads of 1 to 32 KB, 1 to 16 threads (tuning talk)",
        make_data, lambda plan: [Guest("a", 512)], overzealous,
        units={"bytes_per_byte": "1", "ops_per_s": "1/s"},
        knobs=("read_ahead_kib",), cost=lambda values: -mean_of("ops_per_s")(values),
        asked=(*(Asked("bytes_per_byte", "at most", 1.1 * max(1, 4 / kib), case=case)  # no client reads less than a page
                 for case, (_, kib) in random_readers((1, 2, 4, 8, 16), (1, 2, 4, 32)).items()), best_static("ops_per_s")),
        panels=("bytes_per_byte", "ops_per_s"),
        full={"files": "a file of 4 GB", "cases": tuple(random_readers((1, 2, 4, 8, 16), (1, 2, 4, 32))),
              "threads": (1, 2, 4, 8, 16), "records_kib": (1, 2, 4, 32), "data_mb": 4000, "seconds": 6},
        quick={"files": "a file of 1 GB", "cases": tuple(random_readers((1, 16), (1,))), "threads": (1, 16), "records_kib": (1,), "data_mb": 1000,
               "seconds": 4}),
    Figure(
        "rewrite", "rewrites of 1 to 32 KB at rsize = wsize = 4k, 8k, 64k: no reads (FreeBSD thread)",
        make_rewritten, lambda plan: [Guest(f"wsize-{kib}k", 256, options=f"rsize={kib * 1024},wsize={kib * 1024}")
                                      for kib in plan.wsize_kib], rewrite,
        units={"server_reads": "1", "throughput": "MB/s"},
        knobs=("dirty",), cost=lambda values: -mean_of("throughput")(values),
        asked=(*(Asked("server_reads", "at most", 0, case=case) for case in REWRITES if case not in PARTS_OF_PAGES), best_static("throughput")),
        panels=("server_reads", "throughput"),
        full={"files": "three files", "cases": tuple(REWRITES),
              "wsize_kib": (4, 8, 64), "file_mb": 65.536},
        quick={"file_mb": 8.192}),
)
