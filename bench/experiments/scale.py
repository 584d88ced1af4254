# SPDX-License-Identifier: LGPL-3.0-or-later
"""scale: what a server spends for each client, file and export, and an agent for each mount; doc/scale.md draws the conclusions.

subscribers-N  of the price service, real sockets: quiet (each is told once a second), and one move of the price that all are told
clients-N      come, read 4 KB and go, among 8 that read 64 KB: does the table of clients still know the 8?
connections-N  all at once: what NFS-Ganesha itself takes for one
files-N        looked up, and read four times in random order, over NFSv3
opens-N        opened and kept open, over NFSv4.0
exports-N      of one file system; beside it an agent whose metrics are scraped, and a subscriber of each export
agent-N        an agent with N mounts of as many servers (N addresses of one)
herd-N         simulated (bench/herd), prices 100 ms old, at 80 and 110 % of the disk

Memory is that of the resident set. All clients are of one process beside the server, and share its processors."""

import contextlib
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

from bench.experiments import footprint, price_service
from bench.experiments.options import Options as CommonOptions, check_names
from bench.lab import host, lab as laboratory
from bench.lab.ganesha import Ganesha, GaneshaError
from bench.lab.host import LabError, end, wait_for
from bench.lab.lab import Lab
from bench.lab.native import NativeAgent
from bench.lab.net import FIRST_CLIENT, SERVER_ADDRESS
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "scale"
HELP = "what a server spends per client, file and export, and an agent per mount"
RUNS = 1
DEVICE = "none"
STACKS = {"stock": "VFS", "canfs": "CANFS"}
SERVER_OPTIONS = {"Monitors": "disk", "Price_Port": 20590}
MANY_CONNECTIONS = {"RPC_Max_Connections": 10000}  # the most that NFS-Ganesha 4.3 allows; 1024 by default
PER_ADDRESS, SUBSCRIBERS_MAX = 60, 10000  # the service takes 64 of one
# Else each of thousands would look for one of some 400 free ports below 1024, again and again.
ANY_PORT = ("setpriv", "--bounding-set=-net_bind_service")
LARGE, LARGE_READS = 8, 2
MOVES = 10  # of the price
START_SECONDS = 300  # what a server with many exports may take to start
JOB_SECONDS = 600
METRICS = "127.0.0.1:9105"
SCRAPE = ("import sys, time, urllib.request; begin = time.monotonic(); text = urllib.request.urlopen(sys.argv[1], timeout=30).read(); "
          "print(len(text), time.monotonic() - begin, b'canfs_server_up{server=\"ganesha\"} 1' in text)")


class Options(CommonOptions):
    def seconds(self):
        return 3 if self.quick else 10


def what_is_missing():
    return laboratory.what_is_missing()


def resident_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", host.get(f"/proc/{pid}/status"))[1])


def cpu_seconds(pid, thread=None):
    """Of all threads of a process, or of those of a name."""
    tasks = [task for task in Path(f"/proc/{pid}/task").iterdir() if not thread or host.get(task / "comm") == thread]
    return sum(int(host.get(task / "schedstat").split()[0]) for task in tasks) / 1e9


class Server:
    """A price server, as its control socket shows it."""

    def __init__(self, lab, pid, socket, thread=None):
        self.lab, self.pid, self.socket, self.thread = lab, pid, socket, thread

    def ask(self, *words):
        return host.run(self.lab.program("canfsctl"), "server", f"--socket={self.socket}", "--json", *words)

    def counters(self):
        return json.loads(self.ask("counters"))

    def cpu(self):
        return cpu_seconds(self.pid, self.thread)


def python(lab, *words, **options):
    return lab.spawn_beside_server("python3", Path(__file__).resolve().parents[1] / "jobs" / words[0], *words[1:],
                                   stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **options)


def said(process):
    """The line that a job says when it is done, or has come so far."""
    line = process.stdout.readline()
    if not line:
        raise LabError(f"{process.args[-1]}: ended with status {process.wait(JOB_SECONDS)}")
    return json.loads(line)


@contextlib.contextmanager
def ganesha(lab, stack, exports=None, **more):
    with Ganesha([(str(path), stack) for path in exports or [lab.disk.mount]], lab.name, lab.directory / f"ganesha-{stack}", build=lab.build,
                 options=SERVER_OPTIONS if stack == "CANFS" else None, core=MANY_CONNECTIONS, **more) as server:
        time.sleep(1)
        yield Server(lab, server.pid, f"/proc/{server.pid}/root/run/canfs/ganesha.sock", "canfs_prices")


@contextlib.contextmanager
def sidecar(lab):
    """canfs-priced; the list of exports is made up, no NFS server takes part."""
    etab, config, socket = (lab.directory / name for name in ("etab", "priced.conf", "priced.sock"))
    etab.write_text(f"{lab.disk.mount}\t*(rw,insecure)\n")
    config.write_text(f"[priced]\netab = {etab}\ncontrol_socket = {socket}\nmonitors = disk\n")
    process = lab.spawn_beside_server(lab.program("canfs-priced"), "--config", config, stderr=subprocess.DEVNULL)
    try:
        wait_for(socket.exists, 20, "canfs-priced")
        time.sleep(1)
        yield Server(lab, process.pid, socket)
    finally:
        end(process)


def admit(lab, addresses):
    """A server in Ganesha has prices for clients that it has answered over NFS."""
    for number in range(addresses):
        host.run(*lab.network.enter(), lab.program("canfsctl"), "price", "--json", "--nfs-version=4",
                 f"10.78.{number // 256}.{number % 256 + 1}:{lab.disk.mount}", check=False)


def subscribers(lab, count, add, options):
    addresses = -(-count // PER_ADDRESS)
    for variant, start in (("canfs", lambda: ganesha(lab, "CANFS")), ("sidecar", lambda: sidecar(lab))):
        if options.variants and variant not in options.variants:
            continue
        with start() as server:
            if variant == "canfs":
                admit(lab, addresses)
            wait_for(lambda: server.counters()["market_steps"] > 20, 20, "prices")
            idle, before_kib = server.cpu(), resident_kib(server.pid)
            time.sleep(options.seconds())
            idle = (server.cpu() - idle) / options.seconds()
            tell_all(lab, server, count, addresses, lambda *row: add(variant, *row), options, (idle, before_kib))


def tell_all(lab, server, count, addresses, add, options, before):
    idle, before_kib = before
    out = lab.directory / "subscribers"
    with open(out, "wb") as file:
        job = lab.spawn_beside_server(*ANY_PORT, lab.program("canfs-job-subscribe"), "--count", count, "--addresses", addresses, "--seconds",
                                      options.seconds() + 60, FIRST_CLIENT, lab.disk.mount, stdout=file)
    try:
        least = price_service.TOLD * min(count, SUBSCRIBERS_MAX)
        wait_for(lambda: server.counters()["subscribers"] >= least, 40, f"{count} subscribers")
        add("memory", "KiB", resident_kib(server.pid) - before_kib)
        cpu, begin, displaced = server.cpu(), time.monotonic(), server.counters()["subscriptions_displaced"]
        time.sleep(options.seconds())
        quiet = (server.cpu() - cpu) / (time.monotonic() - begin)
        add("cpu_quiet", "%", 100 * quiet)
        add("displaced", "1/s", (server.counters()["subscriptions_displaced"] - displaced) / (time.monotonic() - begin))
        cpu, begin, waits = server.cpu(), time.monotonic(), []
        for number in range(MOVES):
            waits.append(move(server, out, on=number % 2 == 0))
        spent = server.cpu() - cpu - idle * (time.monotonic() - begin)
        unsent = server.counters()["price_datagrams_unsent"]
    finally:
        end(job)
    add("cpu_of_a_move", "ms", 1e3 * (spent / MOVES - max(0, quiet - idle) * statistics.mean(waits)))
    add("move_known", "ms", 1e3 * statistics.median(waits))
    add("unsent", "", unsent)


def move(server, out, on):
    """Seconds until the subscriber that is told last knows that the price is 1, or not any more."""
    begin = time.monotonic()
    server.ask("set", f"drain={'on' if on else 'off'}")

    def known():
        lines = out.read_text(encoding="ascii").split("\n")[:-1]
        return next((at - begin for at, price in (map(float, line.split()) for line in lines) if at > begin and (price > 0.99) == on), None)
    wait_for(lambda: known() is not None, 10, "a price that moves", every=0.01)
    return known()


def clients(lab, count, add, options):
    with ganesha(lab, "CANFS") as server:
        before_kib = resident_kib(server.pid)
        job = python(lab, "clients.py", FIRST_CLIENT, lab.disk.mount, "data", count, LARGE, LARGE_READS)
        result = said(job)
        table = json.loads(server.ask("clients", "--top=256"))
        end(job)
        rows = {row["address"]: row for row in table["clients"]}
        known = [address for address in result["large"] if address in list(rows)[:LARGE]]
        counted = sum(rows[address]["reads"] for address in result["large"] if address in rows)
        for metric, unit, value in (("large_found", "share", len(known) / LARGE), ("large_counted", "share", counted / (LARGE * result["reads"])),
                                    ("known", "", len(rows)), ("read", "us", 1e6 * result["seconds"] / (count * (LARGE * LARGE_READS + 1))),
                                    ("memory", "KiB", resident_kib(server.pid) - before_kib)):
            add("canfs", metric, unit, value)


def connections(lab, count, add, options):
    for variant, stack in STACKS.items():
        with ganesha(lab, stack) as server:
            before_kib = resident_kib(server.pid)
            job = python(lab, "clients.py", FIRST_CLIENT, lab.disk.mount, "data", count, 0, 0)
            said(job)
            add(variant, "memory", "KiB", resident_kib(server.pid) - before_kib)
            end(job)


def files(lab, count, add, options):
    for variant, stack in STACKS.items():
        with ganesha(lab, stack, [lab.many]) as server:
            before_kib, cpu = resident_kib(server.pid), cpu_seconds(server.pid)
            job = lab.spawn_beside_server(lab.program("canfs-job-many"), f"--files={count}", f"--reads={4 * count}", SERVER_ADDRESS, lab.many,
                                          stdout=subprocess.PIPE, text=True)
            seen = [said(job) | {"cpu": cpu_seconds(server.pid)} for _ in range(40)]  # 20 lines of each kind
            end(job)
            add(variant, "memory", "KiB", resident_kib(server.pid) - before_kib)
            add(variant, "lookup_cpu", "us", 1e6 * (seen[19]["cpu"] - cpu) / count)
            add(variant, "read_cpu", "us", 1e6 * (seen[39]["cpu"] - seen[19]["cpu"]) / (4 * count))


def opens(lab, count, add, options):
    for variant, stack in STACKS.items():
        with ganesha(lab, stack, [lab.many]) as server:
            before_kib, cpu = resident_kib(server.pid), cpu_seconds(server.pid)
            job = lab.spawn_beside_server(lab.program("canfs-job-open"), SERVER_ADDRESS, lab.many, count, stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, text=True)
            said(job)
            add(variant, "memory", "KiB", resident_kib(server.pid) - before_kib)
            add(variant, "open_cpu", "us", 1e6 * (cpu_seconds(server.pid) - cpu) / count)
            end(job)


def exports(lab, count, add, options):
    paths = [lab.disk.mount / f"exports-{count}" / str(number) for number in range(count)]
    for path in paths:
        path.mkdir(parents=True, exist_ok=True)
    for variant, stack in STACKS.items():
        server = Ganesha([(str(path), stack) for path in paths], lab.name, lab.directory / f"exports-{count}-{stack}", build=lab.build,
                         options=SERVER_OPTIONS if stack == "CANFS" else None)
        begin = time.monotonic()
        try:
            server.start(START_SECONDS)
            add(variant, "start", "s", time.monotonic() - begin)
            time.sleep(2)
            add(variant, "memory", "KiB", resident_kib(server.pid))
            if stack == "CANFS":
                shown = Server(lab, server.pid, f"/proc/{server.pid}/root/run/canfs/ganesha.sock", "canfs_prices")
                watch_exports(lab, shown, lambda *row: add("canfs", *row), options)
                subscribe_each(lab, shown, paths[0].parent, count, lambda *row: add("canfs", *row), options)
            begin = time.monotonic()
            server.stop()
            add(variant, "stop", "s", time.monotonic() - begin)
        finally:
            server.close()


def watch_exports(lab, shown, add, options):
    cpu = cpu_seconds(shown.pid, "canfs_market")
    time.sleep(options.seconds())
    add("market_cpu", "%", 100 * (cpu_seconds(shown.pid, "canfs_market") - cpu) / options.seconds())
    add("history", "KiB", shown.counters()["history_bytes"] / 1024)
    begin = time.monotonic()
    prices = shown.ask("prices")
    add("prices_reply", "KiB", len(prices) / 1024)
    add("prices_seconds", "s", time.monotonic() - begin)
    config = lab.directory / "scraped.conf"
    config.write_text(f"[agent]\nstate_dir = {lab.directory}/scraped\ncontrol_socket = {lab.directory}/scraped.sock\n"
                      f"metrics_listen = {METRICS}\nservers = {shown.socket}\n")
    one = lab.spawn_beside_server(lab.program("canfs-agent"), "--config", config, stderr=subprocess.DEVNULL)
    try:
        time.sleep(7)  # it asks every five seconds
        add("server_up", "", scrape(lab, add))
    finally:
        end(one)


def subscribe_each(lab, server, directory, count, add, options):
    """A subscriber of each export: what it takes to make them subscribers, and then, while nothing moves."""
    addresses = -(-count // PER_ADDRESS)
    asked = python(lab, "ask_space.py", FIRST_CLIENT, addresses, directory, count)
    said(asked)
    end(asked)
    cpu = server.cpu()
    job = lab.spawn_beside_server(*ANY_PORT, lab.program("canfs-job-subscribe"), "--count", count, "--addresses", addresses, "--exports", count,
                                  "--seconds", options.seconds() + 40, FIRST_CLIENT, directory, stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: server.counters()["subscribers"] >= price_service.TOLD * count, 40, f"{count} subscribers")
        add("subscribing_cpu", "us", 1e6 * (server.cpu() - cpu) / count)
        cpu, steps, begin = server.cpu(), server.counters()["market_steps"], time.monotonic()
        time.sleep(options.seconds())
        elapsed = time.monotonic() - begin
        add("subscribed_cpu", "%", 100 * (server.cpu() - cpu) / elapsed)
        add("prices_per_second", "1/s", (server.counters()["market_steps"] - steps) / elapsed)
    finally:
        end(job)


def scrape(lab, add):
    size, seconds, is_up = host.run(*lab.network.enter(), "python3", "-c", SCRAPE, f"http://{METRICS}/metrics").split()
    add("scrape", "KiB", int(size) / 1024)
    add("scrape_seconds", "ms", 1e3 * float(seconds))
    return is_up == "True"


def agent(lab, count, add, options):
    lab.start_server("CANFS", SERVER_OPTIONS)
    try:
        with NativeAgent(lab, count, {"metrics_listen": METRICS} | options.agent, servers=count) as one:
            time.sleep(12)  # all are asked for their prices, and subscribe
            before, begin = one.cpu_seconds(), time.monotonic()
            time.sleep(options.seconds())
            spent = sum(one.cpu_seconds()) - sum(before)
            add("canfs", "cpu", "%", 100 * spent / (time.monotonic() - begin))
            add("canfs", "memory", "KiB", 1024 * one.rss_mib())
            add("canfs", "subscribed", "", Server(lab, lab.server.pid, f"/proc/{lab.server.pid}/root/run/canfs/ganesha.sock")
                .counters()["subscribers"])
            scrape(lab, lambda *row: add("canfs", *row))
    finally:
        lab.stop_server()


def herd(lab, count, add, options):
    for load in (80, 110):
        seen = json.loads(host.run("nice", "-n", 10, lab.program("canfs-herd"), "taper", count, load, 100, 1, 20 if options.quick else 60,
                                   timeout=JOB_SECONDS))
        prices = [point[1] for point in seen["series"]]
        mean, swings = statistics.mean(prices), statistics.quantiles(prices, n=20)
        crossings = sum((a > mean) != (b > mean) for a, b in zip(prices, prices[1:]))
        for metric, unit, value in (("backlog_p99", "MB", seen["backlog_p99_mb"]), ("idle", "share", seen["unused_pct"] / 100),
                                    ("fairness", "index", seen["fairness"]), ("price_swing", "1", swings[-1] - swings[0]),
                                    ("swings", "1/min", crossings / 2 * 60 / (len(prices) * seen["series_sec"]))):
            add(f"load-{load}", metric, unit, value)


# case: what measures it, how many, and how many with --quick
KINDS = {"subscribers": (subscribers, (1, 10, 100, 1000, 10000, 12000), (10, 1000)), "clients": (clients, (100, 1000, 10000), (1000,)),
         "connections": (connections, (100, 1000, 9000), (100,)), "files": (files, (1000, 10000, 100000), (1000,)),
         "opens": (opens, (1000, 10000, 18000), (1000,)), "exports": (exports, (10, 100, 1000, 10000), (10, 100)),
         "agent": (agent, (1, 10, 100), (1, 10)), "herd": (herd, (1000, 10000, 100000), (1000,))}
CASES = {f"{kind}-{count}": (measure, count) for kind, (measure, counts, _) in KINDS.items() for count in counts}


def wanted(options):
    check_names("case", options.cases, CASES)
    quick = [f"{kind}-{count}" for kind, (_, _, counts) in KINDS.items() for count in counts]
    return list(options.cases) or (quick if options.quick else list(CASES))


def run(build, options, say, keep=None):
    """say(text) reports progress; there are no trials to keep. Returns Results."""
    del keep
    results, cases = Results(NAME), wanted(options)
    many = max((CASES[case][1] for case in cases if case.startswith(("files", "opens"))), default=1000)
    say(f"setting up: network, {many} files")
    with Lab(build, disk=options.disk) as lab, footprint.file_system(lab, many) as lab.many:
        lab.network.answer_everywhere()
        lab.disk.control("mode=free")
        lab.disk.write_file("data", 1)
        for _ in range(options.runs):
            for case in cases:
                measure, count = CASES[case]

                def add(variant, metric, unit, value, case=case):
                    say(f"{case}, {variant}: {metric} {value:.4g} {unit}")
                    results.add(case, DEVICE, variant, metric, unit, value)
                try:
                    measure(lab, count, add, options)
                except (LabError, GaneshaError) as error:
                    say(f"{case}: not measured: {error}")
    return results
