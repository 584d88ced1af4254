# SPDX-License-Identifier: LGPL-3.0-or-later
"""What doc/results.md shows, in its order: every figure and table of the two papers, and what a user of canfs asks beyond them.
Adding one is adding a row here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One call of bench/run; its result is doc/results/NAME.json."""
    name: str
    experiment: str
    minutes: int               # about, until it has been measured once
    arguments: tuple = ()


@dataclass(frozen=True)
class Shown:
    """Rows of a measurement: those of the cases (prefixes; none: all) and metrics (none: all)."""
    measurement: str
    metrics: tuple = ()
    cases: tuple = ()


@dataclass(frozen=True)
class Entry:
    title: str
    saw: str            # what the authors did and saw; of questions that are ours: what is asked
    shown: tuple = ()
    picture: str = ""   # in bench/results, where the measurement leaves it
    note: str = ""      # what is other here, or why it is not there


@dataclass(frozen=True)
class Section:
    title: str
    entries: tuple


def measurement(experiment, minutes, *arguments, runs=None, name=None):
    """runs: other than what the experiment has by itself."""
    return Measurement(name or experiment, experiment, minutes, (("--runs", str(runs)) if runs else ()) + arguments)


def filebench(personality, minutes, *cases):
    arguments = [word for case in cases for word in ("--case", f"{personality}-clients-{case}")]
    return measurement("filebench", minutes, *arguments, "--variant", "stock", "--variant", "canfs", name=f"filebench-{personality}")


# What its own response times tell, and nothing else.
ABOVE_GLUSTER = ("--backend", "gluster", "--server", "Monitors=backend")

# Three runs where a run is long.
MEASUREMENTS = (
    measurement("interference", 25), measurement("copy", 20, runs=3), measurement("accelerate", 14, runs=3), measurement("burst", 9, runs=3),
    measurement("writeback-cdf", 17, runs=3), measurement("overzealous", 9, runs=3), measurement("rewrite", 9, runs=3),
    filebench("fileserver", 20, 1, 8), filebench("varmail", 20, 1, 8), filebench("webserver", 20, 1, 8),
    filebench("webproxy", 20, 1, 8), filebench("oltp", 30, 1, 8),
    measurement("database", 45, runs=3), measurement("tree", 110, runs=3), measurement("greedy", 30, runs=3),
    measurement("jobs", 60, runs=3),
    measurement("prices", 15), measurement("k-sensitivity", 36, runs=3), measurement("herd", 10),
    measurement("readers", 25, runs=3), measurement("stride", 12, runs=3), measurement("reorder", 12, runs=3), measurement("backwards", 10),
    measurement("random", 10), measurement("mixed", 15), measurement("scheduler", 10, runs=3),
    measurement("transport", 15, runs=3), measurement("zones", 25, runs=3), measurement("heuristics", 25, runs=3), measurement("ablation", 1),
    measurement("iozone", 15), measurement("matrix", 80, runs=3), measurement("ordinary", 70, runs=1),
    measurement("together", 15, "--case", "all", "--case", "sequential+random", "--case", "sequential+small", "--case", "small+fsync", runs=3),
    measurement("uplink", 30), measurement("classes", 45, runs=3), measurement("overhead", 10), measurement("hostile", 10, runs=3),
    measurement("stable", 40, "--variant", "stock", "--variant", "canfs"),
    measurement("stable", 12, "--case", "ext4-clients-1", "--case", "ext4-clients-8", "--case", "xfs-clients-1", "--case", "xfs-clients-8",
                "--variant", "stock", "--variant", "commit-metadata", name="commit-metadata"),
    measurement("delegations", 50, runs=3), measurement("alerts", 28),
    measurement("powercut", 12, "--case", "ext4", "--case", "xfs", "--variant", "stock", "--variant", "commit-metadata", runs=10),
    measurement("scale", 25), measurement("who", 15),
    measurement("interference", 16, *ABOVE_GLUSTER, "--case", "held", name="interference-gluster"),
    measurement("interference", 20, "--backend", "ceph", "--server", "Monitors=backend", "--case", "held", runs=3, name="interference-ceph"),
    measurement("prices", 7, "--case", "backend", name="prices-backend"),
    measurement("interference", 13, *ABOVE_GLUSTER, "--case", "held-two-servers", runs=3, name="interference-two-servers"),
    measurement("prices", 7, *ABOVE_GLUSTER, "--case", "backend", runs=3, name="prices-gluster"),
    measurement("prices", 9, "--device", "ssd", "--case", "disk", "--case", "backend", runs=3, name="prices-ssd"),
    measurement("who", 15, *ABOVE_GLUSTER, name="who-gluster"),
    measurement("powercut", 4, "--case", "ext4-fast-commit", "--variant", "stock", runs=10, name="powercut-fast-commit"),
)

CANFS_PAPER = Section("CA-NFS: A Congestion-Aware Network File System (Batsakis et al., FAST 2009)", (
    Entry("Figure 1", "The components: prices at the server, an auction at the client.", note="A drawing: doc/prices.md has ours."),
    Entry("Figure 2", "One client copies a directory of 4 GB in 20 % less time; two thirds of that from writes, one from read-ahead.",
          (Shown("copy", ("seconds",)),), "copy.png",
          "canfs-write-only and canfs-read-ahead-only are the two parts."),
    Entry("Figure 3", "A cached file is read again and again while another is written: 21 % less time, more hits in the client's cache.",
          (Shown("accelerate", ("hit_rate", "seconds")),), "accelerate.png"),
    Entry("Figure 4", "One client reads at random, another writes 1 GB: deferring the writes takes the reader's interference away.",
          (Shown("interference", ("ops_per_s", "p99", "seconds", "close_seconds"), ("held",)),), "interference.png"),
    Entry("Figure 5", "The prices of network, memory and disk follow the load on them.",
          (Shown("prices", ("price_idle", "price_saturated", "spearman", "price_stddev")),), "prices-disk.png"),
    Entry("Figure 6", "Throughput against k, the steepness of the prices: flat near the calculated one, worse far from it.",
          (Shown("k-sensitivity", ("throughput", "reader_p99")),), "k-sensitivity.png",
          "In units of stock. No peak: within 4 % at any k, as the agent's pace does not switch at a price but tapers. What k moves is who waits: "
          "the smaller, the more reads, and the longer the writer's close()."),
    Entry("Figure 7", "filebench's fileserver: more than 10 % more operations with one client, more than 20 % with eight.",
          (Shown("filebench-fileserver", ("ops_per_s",)),)),
    Entry("Figure 8", "How long a write waits until it is committed: spread evenly over 30 s, where NFS sends in bursts.",
          (Shown("writeback-cdf", ("p50", "p99", "peak_over_mean")),), "writeback-cdf.png"),
    Entry("Figure 9", "filebench's oltp scales with the number of clients, beyond what NFS reaches.",
          (Shown("filebench-oltp", ("ops_per_s",)),)),
    Entry("Figure 10", "Two clients write more than their memory holds: the first blocked write comes later.",
          (Shown("burst", ("first_block_seconds", "blocked_writes", "bytes")),), "burst.png"),
    Entry("Section 3.3", "The client's network is one of the five resources; it has no figure of its own. Here a client's write-back shares "
          "a link of 100 Mbit/s with its own reads.",
          (Shown("uplink", ("ops_per_s", "p99", "max", "seconds", "close_seconds")),)),
    Entry("Section 5", "Fairness, and priorities by classes of clients, are future work there. Four clients write beside a reader for ten minutes, "
          "told the same prices; and two of them told twice the price.",
          (Shown("classes", ("deferred", "held", "close_seconds", "jain_deferred")),)),
    Entry("Table 1", "Latencies of filebench's operations, NFS and CA-NFS.",
          tuple(Shown(f"filebench-{name}", ("p50", "p99")) for name in ("fileserver", "oltp", "varmail", "webproxy", "webserver"))),
))

ELLARD_SELTZER = Section("NFS Tricks and Benchmarking Traps (Ellard & Seltzer, USENIX 2003)", (
    Entry("Figure 1", "Outer zones (ZCAV) are twice as fast as inner ones; tagged queueing makes concurrent local readers slower.",
          (Shown("zones", ("throughput",)),), "zones.png", "The variant local; with tags and without."),
    Entry("Figure 2", "The same over NFS.", note="Of the same measurement: the variants stock and canfs."),
    Entry("Figure 3", "Eight readers under Elevator and N-CSCAN: N-CSCAN is fair and slower; tagged queues hide what the scheduler does.",
          (Shown("scheduler", ("throughput", "first_seconds", "last_seconds")),), "scheduler.png",
          "`kernel` is the kernel's own scheduler, `-tags` a disk with tagged queueing."),
    Entry("Figures 4 and 5", "NFS over UDP falls off with concurrent readers; over TCP it does not.",
          (Shown("transport", ("throughput",)),), "transport.png", "With tagged queueing (Figure 5) and without (`no-tags`, Figure 4)."),
    Entry("Figure 6", "Idle and busy clients, in order or not: \"always read-ahead\" is faster than the default heuristic.",
          (Shown("heuristics", ("throughput",)),), "heuristics.png", "`reordered` has 6 % of its requests out of order, as the paper's busy client."),
    Entry("Figure 7", "SlowDown helps only if the table of active files (nfsheur) is large enough; then it reaches always read-ahead.",
          (Shown("ablation", ("coverage", "waste")),), "ablation.png",
          "On traces: `coverage` is the share of reads that were fetched before. Parts of the prefetcher taken away, and the heuristics of "
          "the paper with a large table and with FreeBSD's. `small-table` of the figure above is the same on a disk."),
    Entry("Section 6", "Requests of a sequential reader come out of order, more so from a busy client: SlowDown does not mind.",
          (Shown("reorder", ("throughput",)),), "reorder.png"),
    Entry("Figure 8, Table 1", "A file read in 2, 4, 8 streams in turn: cursors give 1.6 to 2.4 times the throughput.",
          (Shown("stride", ("throughput",)),), "stride.png"),
))

OTHERS = Section("Other texts", (
    Entry("NFS Tuning for High Performance (Talpey, 2004)", "Over-zealous prefetch: random reads of 8 KB move a multiple of their bytes.",
          (Shown("overzealous"),), "overzealous.png"),
    Entry("Terrible NFS performance (FreeBSD-fs, 2014)", "Rewriting in records smaller than wsize reads before it writes.",
          (Shown("rewrite"),), "rewrite.png"),
    Entry("IOzone, as used in the tuning talks", "Written anew, rewritten, read, reread, by the size of a record.",
          (Shown("iozone", ("throughput",)),), "iozone.png"),
    Entry("File system performance under NFS (Whitney, 2002)", "Which file system is the fastest, by clients, request size and direction?",
          (Shown("matrix", ("throughput",)),), "matrix.png"),
))

ADMINISTRATOR = Section("What an administrator asks", (
    Entry("Ordinary work", "Is anything slower that canfs can do nothing for?",
          (Shown("ordinary", ("throughput", "ops_per_s", "files_per_s", "seconds", "p99", "close_p99")),),
          note="A row that looks worse is run again, up to five times or for ten minutes."),
    Entry("A database", "What does a neighbour that copies 1 GB make of PostgreSQL's commits?",
          (Shown("database", ("ops_per_s", "p99", "checkpoints", "seconds")),), "database.png"),
    Entry("A source tree", "untar, make, rm -r and git clone by 1, 4 and 8 clients: seconds of the last.", (Shown("tree", ("seconds",)),),
          note="At most 1.03 of stock's is asked. More take make by four clients (1.05; the agents share the lab's two processors with it), and rm -r, which "
               "is a few tenths of a second either way."),
    Entry("A client that reads far ahead", "What does a random reader suffer from it (CA-NFS §2.2)?",
          (Shown("greedy", ("p99", "ops_per_s", "throughput", "bytes_per_byte")),)),
    Entry("A job that nobody waits for", "What does a random reader, busy by turns, suffer from a backup, tar or make, and how long do these take? "
          "canfs: run by `canfsctl run` (CA-NFS §5).", (Shown("jobs", ("ops_per_s", "p99", "seconds")),),
          note="`-job` is the job beside the reader, `-job-alone` the job without it."),
    Entry("close() and fsync()", "What do the file system and the place of its log make of close(), without canfs?",
          (Shown("stable", ("files_per_s", "close_p99", "flushes")),)),
    Entry("Commit_Metadata", "What does it cost to create files, if their names are stable, too?",
          (Shown("commit-metadata", ("files_per_s", "close_p99", "flushes")),)),
    Entry("close() with write delegations", "What if clients need not wait for close()? Over NFSv4.1, without agents.",
          (Shown("delegations", ("files_per_s", "close_p99", "seconds", "ops_per_s")),)),
    Entry("Sequential readers", "What does the server's read-ahead give 1 to 32 of them, with and without a client's cache?",
          (Shown("readers", ("throughput", "of_limit")),), "readers.png"),
    Entry("Reads that go backwards, or nowhere", "What if nothing can be read ahead, or only the other way?",
          (Shown("backwards", ("throughput",)), Shown("random", ("throughput", "waste"))), "backwards.png"),
    Entry("A random reader beside sequential ones", "Who waits for whom?", (Shown("mixed", ("throughput", "p50", "max")),), "mixed.png"),
    Entry("Above GlusterFS and CephFS", "What are prices worth that are made of response times alone? The first table of this page, above a volume of two bricks on one such "
          "disk, and above CephFS on one; with A and B at different servers of one volume; then the price of such a back end, as that of Figure 5, on the disk itself, above "
          "the volume, and beside the disk's own price on flash.",
          (Shown("interference-gluster"), Shown("interference-ceph"), Shown("interference-two-servers"), Shown("prices-backend"), Shown("prices-gluster"),
           Shown("prices-ssd"))),
    Entry("Who makes whom wait", "One of eight clients writes much, scans, syncs, or reads ahead, another one each time: is it named? Then above a volume, where "
          "the server sees nothing of the disk.", (Shown("who"), Shown("who-gluster"))),
    Entry("Many clients", "Do thousands of them act at once? A simulation with the agent's own code.", (Shown("herd"),)),
    Entry("What one more costs", "What does a server spend for each client, file and export, an agent for each mount, and a herd of 100,000? "
          "[scale.md](scale.md) says what follows.", (Shown("scale"),),
          note="Of four calls on a busy machine: the cases with 10,000 and 12,000 subscribers, with 10,000 clients and those of the herd are from calls of their own. "
               "`displaced`, too, was added for these. CANFS with 10,000 exports had not started when five minutes were over."),
    Entry("A server whose prices mean nothing", "What can a wrong server do to its clients?", (Shown("hostile"),)),
    Entry("Alerts", "Does each alert fire for its cause, and for no other? `dashboard`: its panels, as Grafana would ask for them.", (Shown("alerts"),),
          "dashboard.png"),
    Entry("Power cuts", "What is left of what the server had acknowledged? Numbers are sums over n cuts.", (Shown("powercut"), Shown("powercut-fast-commit"))),
    Entry("Work that shares a disk", "Is what is good for one paid by another?",
          (Shown("together", ("ops_per_s", "throughput", "p99")),)),
    Entry("The price of the prices", "What does a CANFS export take from cached operations?", (Shown("overhead", ("ops_per_s",)),)),
))

SECTIONS = (CANFS_PAPER, ELLARD_SELTZER, OTHERS, ADMINISTRATOR)


@dataclass(frozen=True)
class Number:
    """A median, in a table of another page: times factor, in this form."""
    measurement: str
    case: str
    metric: str
    variant: str
    form: str = "{:.0f}"
    factor: float = 1


@dataclass(frozen=True)
class Table:
    head: tuple   # the words above the columns, of the labels too
    lines: tuple  # (label, (Number, ...))


def each(variants, measurement, case, metric, form="{:.0f}", factor=1):
    """The same of each variant."""
    return tuple(Number(measurement, case, metric, variant, form, factor) for variant in variants)


STOCK_CANFS = ("stock", "canfs")
STABLE = (("ext4", "ext4"), ("ext4 with `fast_commit`", "ext4-fast-commit"), ("ext4, journal on flash", "ext4-external-journal"),
          ("XFS", "xfs"), ("XFS, log on flash", "xfs-external-log"), ("btrfs", "btrfs"))
DATABASE = Table(("a database beside a copy of 1 GB", "alone", "stock", "best static", "canfs"), tuple(
    (label, each(("alone", "stock", "best-static", "canfs"), "database", case, metric, form)) for label, case, metric, form in (
        ("a commit: 99th percentile", "commits", "p99", "{:.0f} ms"),
        ("transactions/s", "commits", "ops_per_s", "{:.0f}"),
        ("the copy", "neighbour", "seconds", "{:.1f} s"))))
MATRIX = Table(("", *(f"{name}, {variant}" for name in ("ext4", "XFS", "btrfs") for variant in STOCK_CANFS)), tuple(
    (f"{clients} clients {direction} by {kib} KB" if clients > 1 else f"one client {direction}s by {kib} KB",
     tuple(number for filesystem in ("ext4", "xfs", "btrfs")
           for number in each(STOCK_CANFS, "matrix", f"{filesystem}-{direction}-{kib}k-clients-{clients}", "throughput")))
    for direction in ("read", "write") for kib in (8, 32) for clients in (1, 6, 13, 40)))
DELEGATIONS = Table(("", "stock", "with delegations"), tuple(
    (label, each(("stock", "delegations"), "delegations", case, metric, form)) for label, case, metric, form in (
        ("one client, 8 threads: files of 16 KB", "small-16", "files_per_s", "{:.0f}/s"),
        ("– of 64 KB", "small-64", "files_per_s", "{:.0f}/s"),
        ("one client unpacks 2000 files with tar", "untar", "seconds", "{:.1f} s"),
        ("– with `tar -m --no-same-owner --no-same-permissions`, and a sync", "untar-new", "seconds", "{:.1f} s"),
        *((f"filebench's {label}", f"{name}-clients-{clients}", "ops_per_s", "{:.0f} operations/s") for label, name, clients in (
            ("fileserver, one client", "fileserver", 1), ("fileserver, eight", "fileserver", 8), ("fileserver, 23", "fileserver", 23),
            ("varmail, eight", "varmail", 8), ("oltp, eight", "oltp", 8), ("webserver, eight", "webserver", 8))))))
ALERTS = Table(("", "WriteBack", "Reads", "ReadAhead", "Commits", "Many", "fires after", "ends after"), tuple(
    (label, (*(Number("alerts", case, f"Canfs{alert}", "canfs") for alert in (
        "WriteBackMakesOthersWait", "ReadsMakeOthersWait", "ReadAheadMakesOthersWait", "CommitsMakeOthersWait", "ManyMakeEachOtherWait")),
             *(Number("alerts", case, metric, "canfs", "{:.0f} s") for metric in ("fires_after", "ends_after"))))
    for label, case in (("one client writes large files", "write-back"), ("– reads four files with O_DIRECT", "reads"),
                        ("– reads two files through its page cache", "read-ahead"), ("– writes 4 KB and fsyncs, with eight threads", "commits"),
                        ("all eight read at random, as fast as they can", "many"), ("all eight read a little", "light"))))
SCALE_PER_UNIT = Table(("", "stock", "canfs"), tuple(
    (label, each(STOCK_CANFS, "scale", case, metric, form, factor)) for label, case, metric, form, factor in (
        ("a connection, of 9,000: memory", "connections-9000", "memory", "{:.1f} KiB", 1 / 9000),
        ("a known file, of 100,000: memory", "files-100000", "memory", "{:.2f} KiB", 1e-5),
        ("– a LOOKUP: processor time", "files-100000", "lookup_cpu", "{:.0f} µs", 1),
        ("– a READ of 4 KB, at random among them: processor time", "files-100000", "read_cpu", "{:.0f} µs", 1),
        ("– of 10,000: memory", "files-10000", "memory", "{:.2f} KiB", 1e-4),
        ("a file open over NFSv4.0, of 10,000: memory", "opens-10000", "memory", "{:.2f} KiB", 1e-4),
        ("– the OPEN: processor time", "opens-10000", "open_cpu", "{:.0f} µs", 1),
        *((f"{label} exports: {what}", f"exports-{count}", metric, form, factor)
          for count, label in ((100, "100"), (1000, "1,000"), (10000, "10,000"))
          for what, metric, form, factor in (("memory of the server", "memory", "{:.0f} MiB", 1 / 1024), ("its start", "start", "{:.1f} s", 1))))))


def scale_table(head, kind, counts, lines, variants=("canfs",)):
    """A column for each count. lines: label, metric, form, factor."""
    return Table((head, *(f"{count:,}" for count in counts)), tuple(
        (label.format(variant), tuple(Number("scale", f"{kind}-{count}", metric, variant, form, factor) for count in counts))
        for variant in variants for label, metric, form, factor in lines))


POWERCUT = ("made", "unmountable", "fsck", "stable", "rewritten", "created", "renamed", "removed")

READER_AND_WRITER = (("A: reads/s", "reader", "ops_per_s", "{:.0f}"), ("A: 99th percentile", "reader", "p99", "{:.1f} ms"),
                     ("B: slowest write()", "writer", "write_max", "{:.0f} ms"), ("B: close() of its 600 MB", "writer", "close_seconds", "{:.1f} s"))


def reader_and_writer(measurement, case="held", heads=("stock", "canfs"), variants=("stock", "canfs")):
    return Table(("a random reader A beside a writer B", "A alone", *heads), tuple(
        (label, each(("alone", *variants), measurement, f"{case}-{who}", metric, form)) for label, who, metric, form in READER_AND_WRITER))


SUMMARY = Table(("", "stock", "canfs"), tuple(
    (label, each(STOCK_CANFS, name, case, metric, form)) for label, name, case, metric, form in (
        ("a random reader beside a writer: 99th percentile of its reads", "interference", "held-reader", "p99", "{:.1f} ms"),
        ("PostgreSQL beside a copy of 1 GB: 99th percentile of a commit", "database", "commits", "p99", "{:.0f} ms"),
        ("PostgreSQL beside a copy of 1 GB: duration of the copy", "database", "neighbour", "seconds", "{:.1f} s"),
        ("one client reads a cached file again while it writes another: duration of the reads", "accelerate", "reread", "seconds", "{:.0f} s"),
        ("eight interleaved sequential streams in one file", "stride", "stride-8", "throughput", "{:.0f} MB/s"))))

# {page: {name of the mark in it: what stands between that and the end}}
TABLES = {
    "README.md": {
        "summary": SUMMARY,
    },
    "doc/file-systems.md": {"matrix": MATRIX},
    "doc/who.md": {"alerts": ALERTS},
    "doc/prices.md": {"interference-gluster": reader_and_writer("interference-gluster"), "interference-ceph": reader_and_writer("interference-ceph"),
                      "interference-two-servers": reader_and_writer("interference-two-servers", "held-two-servers", ("stock", "canfs without `Peers`", "canfs"),
                                                                    ("stock", "canfs-apart", "canfs"))},
    "doc/scale.md": {
        "scale-per-unit": SCALE_PER_UNIT,
        "scale-subscribers": scale_table("subscribers", "subscribers", (1, 10, 100, 1000, 10000), (
            ("{}: memory", "memory", "{:.0f} KiB", 1), ("– processor, while each is told once a second", "cpu_quiet", "{:.2f} %", 1),
            ("– a move of the price that all are told: processor time", "cpu_of_a_move", "{:.2f} ms", 1),
            ("– until the last one knows, from `canfsctl` on", "move_known", "{:.0f} ms", 1)), ("canfs", "sidecar")),
        "scale-clients": scale_table("clients that come and go, among 8 that read 64 KB", "clients", (100, 1000, 10000), (
            ("rows of the table", "known", "{:.0f}", 1), ("of the 8, found among the first 8", "large_found", "{:.2f}", 1),
            ("of their reads, counted for them", "large_counted", "{:.3f}", 1))),
        "scale-exports": scale_table("exports", "exports", (10, 100, 1000, 10000), (
            ("processor, of the thread that makes the prices", "market_cpu", "{:.2f} %", 1), ("their history: memory", "history", "{:.0f} MiB", 1 / 1024),
            ("`canfsctl server prices`: seconds", "prices_seconds", "{:.2f}", 1), ("– its size", "prices_reply", "{:.0f} KiB", 1),
            ("Prometheus: size of a scrape", "scrape", "{:.0f} KiB", 1), ("– its time", "scrape_seconds", "{:.0f} ms", 1),
            ("a subscriber of each: to subscribe, processor time", "subscribing_cpu", "{:.0f} µs", 1),
            ("– processor, while each is told once a second", "subscribed_cpu", "{:.1f} %", 1), ("– prices made per second", "prices_per_second", "{:.1f}", 1))),
        "scale-agent": scale_table("mounts, each of another server", "agent", (1, 10, 100), (
            ("processor", "cpu", "{:.2f} %", 1), ("memory", "memory", "{:.1f} MiB", 1 / 1024), ("subscriptions", "subscribed", "{:.0f}", 1),
            ("size of a scrape", "scrape", "{:.0f} KiB", 1), ("– its time", "scrape_seconds", "{:.0f} ms", 1))),
        "scale-herd": scale_table("clients (simulated)", "herd", (1000, 10000, 100000), (
            ("{}: backlog of the server, 99th percentile", "backlog_p99", "{:.0f} MB", 1), ("– drain unused", "idle", "{:.3f}", 1),
            ("– fairness of a minute", "fairness", "{:.3f}", 1), ("– the price swings by (5th to 95th percentile)", "price_swing", "{:.2f}", 1),
            ("– so often a minute", "swings", "{:.0f}", 1)), ("load-80", "load-110")),
    },
    "doc/stable.md": {
        "database": DATABASE,
        "delegations": DELEGATIONS,
        "stable": Table(("", "files/s, 1 client", "close() p99", "flushes/s", "files/s, 8 clients", "close() p99"), tuple(
            (label, tuple(Number("stable", f"{case}-clients-{clients}", metric, "stock", form) for clients, metric, form in (
                (1, "files_per_s", "{:.0f}"), (1, "close_p99", "{:.0f} ms"), (1, "flushes", "{:.0f}"),
                (8, "files_per_s", "{:.0f}"), (8, "close_p99", "{:.0f} ms"))))
            for label, case in STABLE)),
        "commit-metadata": Table(("files created per second", "stock", "with `Commit_Metadata`"), tuple(
            (f"{label}, {who}", each(("stock", "commit-metadata"), "commit-metadata", f"{label.lower()}-clients-{clients}", "files_per_s", "{:.0f}"))
            for label in ("ext4", "XFS") for clients, who in ((1, "one client"), (8, "eight")))),
        "powercut": Table(("", *POWERCUT), tuple(
            (label, tuple(Number(name, case, metric, variant) for metric in POWERCUT)) for label, name, case, variant in (
                ("ext4", "powercut", "ext4", "stock"), ("– with `Commit_Metadata`", "powercut", "ext4", "commit-metadata"),
                ("XFS", "powercut", "xfs", "stock"), ("– with `Commit_Metadata`", "powercut", "xfs", "commit-metadata"),
                ("ext4 with `fast_commit`", "powercut-fast-commit", "ext4-fast-commit", "stock")))),
    },
}
