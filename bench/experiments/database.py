# SPDX-License-Identifier: LGPL-3.0-or-later
"""database: a PostgreSQL whose data directory is on the mount, under pgbench, beside a neighbour that copies 1 GB.

    database   | warm-up |   transactions, counted             |
    neighbour            |=======| close    1 GB, at full speed

The database does not fit its client's memory, checkpoints come every 30 s, and each commit waits for the server's disk. The
neighbour is a client like any other that writes a file and closes it, which is where it waits for what it still holds.

alone        as stock, and the neighbour does nothing
best-static  the neighbour's dirty limits, searched for this very workload"""

import shutil

from bench.experiments.figure import TIMEOUT_SECONDS, Asked, Figure
from bench.experiments.write_back import quantile
from bench.lab import lab as laboratory, postgresql
from bench.lab.client import launch
from bench.lab.host import run, wait_for
from bench.lab.lab import Guest

CONNECTIONS = 8
SEED = 7
DIRECTORY = "database"
# On the host: each trial begins with a copy of it.
TEMPLATE = "database"
# The least that there is. A checkpoint writes for nine tenths of that, then it syncs.
CHECKPOINT_TIMEOUT = "30s"
SHARED_BUFFERS = "32MB"
BESIDE = 1.5  # of alone: what a neighbour may make of a commit


def what_is_missing():
    return laboratory.what_is_missing() or postgresql.what_is_missing()


def prepare(lab, plan):
    lab.directory.chmod(0o711)  # the database's user passes
    postgresql.make(lab.directory / TEMPLATE, plan.scale, checkpoint_timeout=CHECKPOINT_TIMEOUT, shared_buffers=SHARED_BUFFERS)


def reset(lab, plan):
    """The same bytes at the same places of a new file system."""
    lab.disk.make_file_system()
    run("cp", "-a", lab.directory / TEMPLATE, lab.disk.mount / DIRECTORY, timeout=TIMEOUT_SECONDS)


def latencies(ended, begin):
    return sorted(took for when, took in ended if when >= begin)


def metrics(log, server_log, seconds):
    """Of the last SECONDS of the run. log: of pgbench, all its threads."""
    ended = postgresql.transactions(log)
    end = ended[-1][0]
    begin = end - seconds
    transactions, commits = latencies(ended, begin), latencies(postgresql.commits(server_log), begin)
    done = [checkpoint for checkpoint in postgresql.checkpoints(server_log) if begin <= checkpoint["when"] <= end]
    values = {"ops_per_s": len(transactions) / seconds, "p50": quantile(commits, 0.5), "p99": quantile(commits, 0.99),
              "transaction_p50": quantile(transactions, 0.5), "transaction_p99": quantile(transactions, 0.99),
              "checkpoints": len(done)}
    if done:
        values["checkpoint_seconds"] = max(checkpoint["total"] for checkpoint in done)
    return values


def by_second(ended):
    """[[transactions or commits that ended in this second of the run, the longest of them, ms]]"""
    series = []
    for when, took in ended:
        while len(series) <= when - ended[0][0]:
            series.append([0, 0])
        series[-1] = [series[-1][0] + 1, max(series[-1][1], took)]
    return series


def work(session):
    plan, lab, (client, neighbour) = session.plan, session.lab, session.clients
    server = session.prepare(client, *map(str, postgresql.server_command(lab.on_mount(DIRECTORY))))
    launch([server])
    wait_for(lambda: server.is_done() or postgresql.READY in server.errors(), TIMEOUT_SECONDS, "PostgreSQL: start")
    session.forget(client)
    log = client.directory / "pgbench"
    jobs = [session.prepare(client, *map(str, postgresql.bench_command(CONNECTIONS, plan.warm_up + plan.seconds, SEED, log)))]
    if session.variant != "alone":
        jobs.append(session.prepare(neighbour, "canfs-job-write", "--mb", plan.copy_mb, "--begin", plan.warm_up, lab.on_mount("out")))
    lab.disk.cold()
    launch(jobs)
    jobs[0].wait(plan.warm_up + plan.seconds + TIMEOUT_SECONDS)
    copies = [job.result(TIMEOUT_SECONDS) for job in jobs[1:]]
    lab.disk.control("mode=free")
    server.signal("INT")
    server.wait(TIMEOUT_SECONDS)
    text = "".join(path.read_text(encoding="ascii") for path in client.directory.glob("pgbench.*"))
    session.details |= {"copy": copies, "checkpoints": postgresql.checkpoints(server.errors()),
                        "transactions": by_second(postgresql.transactions(text)),
                        "commits": by_second(postgresql.commits(server.errors()))}
    return {"commits": metrics(text, server.errors(), plan.seconds)} | \
           {"neighbour": {"seconds": copy["seconds"], "close_seconds": copy["close_seconds"]} for copy in copies}


FIGURE = Figure(
    "database", "PostgreSQL (pgbench) beside a client that copies 1 GB", prepare,
    lambda plan: [Guest("database", plan.database_mib), Guest("neighbour", plan.neighbour_mib)], work, reset=reset,
    what_is_missing=what_is_missing, variants=("alone", "stock", "best-static", "canfs"),
    units={"ops_per_s": "1/s", "p50": "ms", "p99": "ms", "transaction_p50": "ms", "transaction_p99": "ms", "checkpoints": "1",
           "checkpoint_seconds": "s", "seconds": "s", "close_seconds": "s"},
    knobs=("dirty",), levels={"dirty": ((1, 2), (5, 10), (35, 45))}, tuned=("neighbour",),
    cost=lambda values: values["commits"]["p99"],
    asked=(Asked("p99", "at most", BESIDE, "alone"), Asked("p99", "at most", round(2 - 0.95, 2), "best-static")),
    panels=("ops_per_s", "p99", "transaction_p99", "sent"),
    full={"files": "a database", "cases": ("commits", "neighbour"), "database_mib": 512, "neighbour_mib": 2048, "scale": 60,
          "copy_mb": 1000, "warm_up": 10, "seconds": 60},
    quick={"database_mib": 256, "neighbour_mib": 1024, "scale": 25, "copy_mb": 300, "warm_up": 2, "seconds": 8})
