# SPDX-License-Identifier: LGPL-3.0-or-later
"""others: loads that others wrote, by one kernel client: what we did not think of.

fio-NAME      the example of that name in Debian's fio-examples, with a file of FIO_MIB and for FIO_SECONDS
dbench        the file server's trace that dbench comes with, 4 processes
stress-*      stress-ng's file stressors
pgbench-read  PostgreSQL, SELECT alone, of a database larger than its client's memory
git-status    in a work tree of FILES files, cold, then warm
sqlite        SQLite's own speedtest1, if it is installed: Debian has no package of it
rsync-push    FILES_PUSHED files to the mount; each close waits for the disk
rsync-pull    the work tree from the mount

Variants: stock and canfs, in turn."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from bench.experiments import canfs, loads
from bench.experiments.figure import AskedResults
from bench.experiments.options import Options  # noqa: F401  (bench/run makes Options)
from bench.experiments.rounds import chosen, run_rounds
from bench.lab import postgresql, source_tree
from bench.lab.host import run as run_here
from bench.lab.lab import Guest

NAME = "others"
HELP = "loads that others wrote: fio's examples, dbench, stress-ng, pgbench, git status, SQLite, rsync"
RUNS = 3
VARIANTS = ("stock", "canfs")
GUEST_MIB = 512
TIMEOUT_SECONDS = 1200
FIO_EXAMPLES = Path("/usr/share/doc/fio/examples")
FIO_MIB, FIO_SECONDS = 512, 15
FILES, FILES_PUSHED = 20_000, 1_000
DATABASE_SCALE = 60  # 900 MB
DATABASE_SECONDS = 20
TIMED = "export TMPDIR=/run HOME=/run; cd \"$1\"; set -e; begin=$EPOCHREALTIME; {}; echo; echo \"[$begin, $EPOCHREALTIME]\""
STATUS = "git -c safe.directory=* -C source status --short"


@dataclass(frozen=True)
class Load:
    program: str
    script: str         # in the guest; $1: the export, $2: what is prepared on the host. `out` in the export is its own
    metric: str = "seconds"
    says: str = None    # of the script's output: the metric's value; None: the time that it took


def fio(example):
    """Its own sizes, times and devices are for a disk of its own."""
    return Load("fio", f"""{{ echo '[global]'; echo runtime={FIO_SECONDS}; sed -E \
        's/^size=.*/size={FIO_MIB}m/; s/^(runtime|timeout)=.*/\\1={FIO_SECONDS}/; /^(ramp_time|(filename|directory)=\\/)/d' \
        {FIO_EXAMPLES}/{example}.fio; }} >/run/job.fio; cd out; fio --output-format=json /run/job.fio""", "throughput", "fio")


CASES = {
    **{name if name.startswith("fio-") else f"fio-{name}": fio(name) for name in (
        "fio-seq-read", "fio-seq-write", "fio-seq-RW", "fio-rand-read", "fio-rand-write", "fio-rand-RW", "tiobench-example",
        "iometer-file-access-server", "backwards-read", "basic-verify", "ssd-test")},
    "dbench": Load("dbench", "dbench -D out -t 20 -c /usr/share/dbench/client.txt 4", "throughput", r"Throughput ([\d.]+) MB/sec"),
    "stress-hdd": Load("stress-ng", "stress-ng --hdd 2 --hdd-bytes 64m --hdd-ops 20000 --temp-path out"),
    "stress-iomix": Load("stress-ng", "stress-ng --iomix 1 --iomix-bytes 64m --iomix-ops 20 --temp-path out"),
    "pgbench-read": Load("postgres", "bash \"$2/pgbench\" \"$1/database\"", "ops_per_s", r"tps = ([\d.]+)"),
    "git-status-cold": Load("git", STATUS),
    "git-status-warm": Load("git", f"{STATUS}; begin=$EPOCHREALTIME; {STATUS}"),
    "sqlite": Load("speedtest1", "speedtest1 --size 25 out/database"),
    "rsync-push": Load("rsync", 'rsync -a "$2/pushed/" out/'),
    "rsync-pull": Load("rsync", "rsync -a source/ /run/pulled/"),
}
PGBENCH = """{server} & server=$!
until {client} --time=1 >/dev/null 2>&1; do sleep 0.2; done
{client} --time={seconds}
kill -INT $server; wait $server || true
"""


@dataclass
class Trial(loads.Trial):
    agents: dict


def is_there(load):
    if load.program == "postgres":
        return postgresql.programs() is not None
    return shutil.which(load.program) and (load.program != "fio" or FIO_EXAMPLES.is_dir())


def prepare(lab, cases):
    lab.disk.control("mode=free")
    if any(name.startswith(("git", "rsync")) for name in cases):
        source_tree.make(lab.directory / "tree", source_tree.Size(FILES, 0), seed=7)
        run_here("cp", "-a", lab.directory / "tree/source", lab.disk.mount, timeout=TIMEOUT_SECONDS)
        source_tree.make(lab.directory / "few", source_tree.Size(FILES_PUSHED, 0), seed=8)
        (lab.directory / "few/source").rename(lab.directory / "pushed")
    if "pgbench-read" in cases:
        lab.directory.chmod(0o711)  # the database's user passes
        postgresql.make(lab.directory / "database", DATABASE_SCALE, shared_buffers="32MB")
        client = shlex.join(map(str, postgresql.bench_command(8, 0, 7, "/run/log"))).replace(" --time=0", " --select-only")
        server = shlex.join(map(str, postgresql.server_command("DIRECTORY"))).replace("DIRECTORY", '"$1"')
        (lab.directory / "pgbench").write_text(PGBENCH.format(server=server, client=client, seconds=DATABASE_SECONDS), encoding="ascii")


def value_of(load, said):
    lines = said.splitlines()
    if load.says is None:
        begin, end = json.loads(lines[-1])
        return end - begin
    if load.says == "fio":
        text = "\n".join(lines[:-1])
        jobs = json.loads(text[text.index("{"):text.rindex("}") + 1])["jobs"]
        return sum(job[kind]["bw_bytes"] for job in jobs for kind in ("read", "write")) / 1e6
    return float(re.findall(load.says, said)[-1])


def reset(lab, case):
    out = lab.disk.mount / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if case.startswith("git"):  # which writes down what it has seen
        shutil.copy(lab.directory / "tree/source/.git/index", lab.disk.mount / "source/.git/index")
    if case == "pgbench-read":
        database = lab.disk.mount / "database"
        shutil.rmtree(database, ignore_errors=True)
        run_here("cp", "-a", lab.directory / "database", database, timeout=TIMEOUT_SECONDS)


def run_trial(lab, case, variant, options):
    load, priced = CASES[case], variant == "canfs"
    try:
        reset(lab, case)
        canfs.start_server(lab, priced, options)
        [client] = lab.start_clients([Guest("c0", GUEST_MIB)])
        agents = canfs.start_agents(lab, [client], options.agent) if priced else []
        lab.disk.cold()
        job = client.run("load", "bash", "-c", TIMED.format(load.script), "bash", lab.on_mount("."), lab.directory)
        said = job.wait(TIMEOUT_SECONDS)
        disk = lab.disk.stat()
        lab.disk.control("mode=free")
        return Trial(case, variant, {load.metric: value_of(load, said)}, said, disk, canfs.stop_agents(agents))
    finally:
        lab.disk.control("mode=free")
        lab.end_trial()


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    cases = chosen("case", options.cases, CASES)
    for name in cases:
        if not is_there(CASES[name]):
            say(f"left out: {name}: {CASES[name].program} is not installed, or its examples are not")
    cases = [name for name in cases if is_there(CASES[name])]
    return run_rounds(build, options, cases, chosen("variant", options.variants, VARIANTS),
                      lambda lab, number, case, variant: run_trial(lab, case, variant, options), AskedResults(NAME, options, loads.UNITS, loads.ASKED), say, keep,
                      lambda lab: prepare(lab, cases))
