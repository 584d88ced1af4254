# SPDX-License-Identifier: LGPL-3.0-or-later
"""price-service: how soon a subscriber knows of a step in load, and what subscribers cost the server.

step     Readers at the server's disk begin at once (SIGCONT), a hundred times at any moment of the server's interval; known is the first
         price that has moved since, at a subscriber that uses the agent's own code over a real socket.
quiet    Subscribers of an export that is idle: each is told once a second.
moving   The same while readers come and go, so that the price moves again and again.

cpu is what the service's thread takes of one processor; the kernel's work to deliver a datagram to a socket on the same host is
part of it, and would be the network card's elsewhere."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

from bench.experiments.figure import Asked, verdicts
from bench.experiments.options import Options, check_names
from bench.lab import host, lab as laboratory
from bench.lab.host import LabError, end, wait_for
from bench.lab.lab import Lab
from bench.lab.net import SERVER_ADDRESS
from bench.lab.report import Results

__all__ = ["NAME", "HELP", "RUNS", "Options", "run", "what_is_missing"]
NAME = "price-service"
HELP = "how soon a step in load is known by a push, and what 1,000 subscribers cost"
RUNS = 5
DISK_OPTIONS_REFUSED = ("filesystem",)
# Only the disk decides: readers make it as expensive as can be, and without them it costs nothing.
SERVER_OPTIONS = {"Monitors": "disk", "Disk_Read_Queue": 1, "Disk_Write_Queue": 4096, "Price_Port": 20590}
READERS, READ_MB = 3, 200
STEPS, QUICK_STEPS = 100, 10
BUSY_SECONDS = 0.6
COUNTS = (1000, 10000)
LOADS = ("quiet", "moving")
SECONDS, QUICK_SECONDS = 30, 8
PER_ADDRESS = 60  # the server takes 64 of one
TIMEOUT_SECONDS = 60
TOLD = 0.99  # of them; thousands that begin in one moment fill the server's socket, and ask again
THREAD = "canfs_prices"
STIR = "for ((;;)); do kill -CONT $@; sleep 0.5; kill -STOP $@; sleep 1.5; done"
ASKED = (Asked("p99", "at most", 0.150, case="step"), Asked("cpu", "at most", 1.0, case="subscribers-1000-quiet"))


def case_name(count, load):
    return f"subscribers-{count}-{load}"


CASES = {case_name(count, load): (count, load) for count in COUNTS for load in LOADS}


class PriceServiceResults(Results):
    def __init__(self, options):
        super().__init__(NAME, options.disk)
        self.quick = options.quick

    def table(self):
        cases = list(dict.fromkeys(row["case"] for row in self.rows()))
        return "\n".join([super().table(), "", *verdicts(self, ASKED, cases, self.quick)])


def what_is_missing():
    return laboratory.what_is_missing()


class Readers:
    """At the server's disk, stopped and continued from outside."""

    def __init__(self, lab):
        lab.disk.write_file("data", megabytes=READ_MB)
        lab.disk.model_on()
        self.processes = [lab.spawn_beside_server(lab.program("canfs-job-read"), "--direct", "--seed", seed, "--phases",
                                                  "0-3000", lab.disk.mount / "data") for seed in range(READERS)]
        self.signal(signal.SIGSTOP)

    def signal(self, number):
        for process in self.processes:
            os.kill(process.pid, number)

    def close(self):
        self.signal(signal.SIGCONT)
        for process in self.processes:
            end(process)


class Subscribers:
    """canfs-job-subscribe, and the (seconds, price) that its first one was told."""

    def __init__(self, lab, count, seconds):
        addresses = -(-count // PER_ADDRESS)
        self.path = lab.directory / f"subscribers-{count}"
        with open(self.path, "wb") as out:
            self.process = lab.spawn_beside_server(
                lab.program("canfs-job-subscribe"), "--count", count, "--addresses", addresses, "--seconds", seconds,
                SERVER_ADDRESS, lab.disk.mount, stdout=out)

    def told(self):
        lines = self.path.read_text(encoding="ascii").split("\n")[:-1]
        return [tuple(map(float, line.split())) for line in lines if not line.startswith("{")]

    def result(self):
        if self.process.wait(TIMEOUT_SECONDS) != 0:
            raise LabError("canfs-job-subscribe has failed")
        return json.loads(self.path.read_text(encoding="ascii").splitlines()[-1])


def asker(lab, number, *options):
    """The command of a client at one of the server's addresses that asks for the price over NFS: the service is for those who do."""
    return [lab.program("canfsctl"), "price", "--json", "--nfs-version=4", *options, f"10.77.0.{1 + number}:{lab.disk.mount}"]


def ask(lab, number):
    return json.loads(host.run(*lab.network.enter(), *asker(lab, number), check=False))


def admit(lab, count):
    for number in range(-(-count // PER_ADDRESS)):
        ask(lab, number)


def service_seconds(lab):
    """Of a processor, that the service's thread has had."""
    for task in Path(f"/proc/{lab.server.pid}/task").iterdir():
        if (task / "comm").read_text(encoding="ascii").strip() == THREAD:
            fields = (task / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    raise LabError(f"the server has no thread {THREAD}")


def calm(subscribers):
    """Until the price is back where it was."""
    wait_for(lambda: subscribers.told() and subscribers.told()[-1][1] < 0.001, TIMEOUT_SECONDS, "a price of 0")


def one_step(subscribers, readers, chance):
    """Seconds from the readers' first chance to read to a price that has moved."""
    calm(subscribers)
    time.sleep(chance.uniform(0, 0.3))
    before = subscribers.told()[-1][1]
    begin = time.monotonic()
    readers.signal(signal.SIGCONT)

    def known():
        return next((at - begin for at, price in subscribers.told() if at > begin and price > before), None)

    time.sleep(BUSY_SECONDS)
    wait_for(lambda: known() is not None, TIMEOUT_SECONDS, "a price that moves")
    readers.signal(signal.SIGSTOP)
    return known()


def measure_steps(lab, results, device, quick, seed):
    readers = Readers(lab)
    steps = QUICK_STEPS if quick else STEPS
    asking = lab.spawn_beside_server(*asker(lab, 0, "--watch=30"), stdout=subprocess.DEVNULL)
    admit(lab, 1)
    subscribers = Subscribers(lab, 1, 3600)
    try:
        chance = random.Random(seed)
        seconds = sorted(one_step(subscribers, readers, chance) for _ in range(steps))
    finally:
        readers.close()
        end(subscribers.process)
        end(asking)
        lab.disk.control("mode=free")
    results.add("step", device, "canfs", "p50", "s", seconds[len(seconds) // 2])
    results.add("step", device, "canfs", "p99", "s", seconds[min(len(seconds) - 1, len(seconds) * 99 // 100)])
    return f"step known after {seconds[len(seconds) // 2] * 1e3:.0f} ms, at most {seconds[-1] * 1e3:.0f} ms"


def cost(lab, results, case, device, seconds):
    count, _ = CASES[case]
    admit(lab, count)
    subscribers = Subscribers(lab, count, seconds + 8)
    time.sleep(6)  # to subscribe
    before, begin = service_seconds(lab), time.monotonic()
    time.sleep(seconds)
    percent = 100 * (service_seconds(lab) - before) / (time.monotonic() - begin)
    said = subscribers.result()
    if said["current"] < TOLD * count:
        raise LabError(f"{said['current']} of {count} subscribers are told of prices")
    pushes = said["pushes"] / (seconds + 8)
    for metric, unit, value in (("cpu", "%", percent), ("pushes", "1/s", pushes), ("lost", "", said["lost"])):
        results.add(case, device, "canfs", metric, unit, value)
    return f"{case}: {percent:.2f} % of a processor, {pushes:.0f} pushes/s, {said['lost']} lost"


@contextlib.contextmanager
def load(lab, kind):
    """moving: half a second of readers in every two."""
    if kind == "quiet":
        yield
        return
    readers = Readers(lab)
    stirrer = lab.spawn_beside_server("bash", "-c", STIR, "bash", *(process.pid for process in readers.processes))
    try:
        yield
    finally:
        end(stirrer)
        readers.close()
        lab.disk.control("mode=free")


def add_addresses(lab, count):
    """/32: of several in one network the first would be the source of all."""
    for number in range(1, count):
        host.run("ip", "-netns", lab.name, "address", "add", f"10.77.0.{1 + number}/32", "dev", "br0")


def run(build, options, say, keep=None):
    """say(text) reports progress; there are no trials to keep. Returns Results."""
    del keep
    cases = ("step", *CASES)
    check_names("case", options.cases, cases)
    wanted = [case for case in cases if not options.cases or case in options.cases]
    results, device = PriceServiceResults(options), options.disk.name
    with Lab(build, disk=options.disk) as lab:
        add_addresses(lab, max(COUNTS) // PER_ADDRESS + 1)
        for number in range(options.runs):
            for case in wanted:
                # Anew: it bounds the subscriptions of an address, and those of the case before may not have ended.
                lab.start_server("CANFS", SERVER_OPTIONS | options.server)
                wait_for(lambda: ask(lab, 0)["publishes"], TIMEOUT_SECONDS, "prices")
                if case == "step":
                    text = measure_steps(lab, results, device, options.quick, number)
                else:
                    with load(lab, CASES[case][1]):
                        text = cost(lab, results, case, device, QUICK_SECONDS if options.quick else SECONDS)
                lab.stop_server()
                say(f"run {number + 1} of {options.runs}: {text}")
    return results
