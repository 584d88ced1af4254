# SPDX-License-Identifier: LGPL-3.0-or-later
"""The variant `canfs`: agents in the guests, and the server's prices as they go by."""

import json
import signal
import subprocess
import threading
import time

from bench.lab.host import LabError, run, wait_for

# An agent believes in a server's prices after several consecutive ones.
WARM_UP_SECONDS = 3
VERDICT = "write-back hold ->"  # its first one, in its log
STOP_SECONDS = 30
# In the lab clients and server share one processor, and no real wire: what these two resources say is
# about the lab, not about the server.
SERVER_OPTIONS = {"Monitors": "disk, memory"}
WATCH_INTERVAL_SECONDS = 0.2
# Of start_server(): clients of NFSv4 have delegations.
DELEGATIONS = {"nfsv4": {"Delegations": "true"}, "export_items": {"Delegations": "RW", "Attr_Expiration_Time": 0},
               "export_options": {"Delegations": "true"}}


def start_server(lab, priced, options, server=None, start=None, **more):
    """Ganesha with CANFS, with server's options and those of the command line; start: Lab.start_server(), or the
    second one; more: of it. Not priced: over VFS, as it comes."""
    start = start or lab.start_server
    if priced:
        start("CANFS", SERVER_OPTIONS | (server or {}) | options.server, **more)
    else:
        start("VFS")


# Of the server, as it sees it: /run is its own.
SOCKET = "run/canfs/ganesha.sock"


def ask_server(lab, command, *arguments):
    """Over the control socket."""
    return json.loads(run(lab.program("canfsctl"), "server", command, "--json",
                          f"--socket=/proc/{lab.server.pid}/root/{SOCKET}", *arguments))


def set_server(lab, **settings):
    """What is set so lasts until the server ends. k may be as small as 1.1 here, in the server's
    configuration it is a whole number."""
    return ask_server(lab, "set", *(f"{name}={value}" for name, value in settings.items()))


def export_prices(lab):
    """Of the one export that the lab's server has."""
    [export] = ask_server(lab, "prices")["exports"]
    return export


# A virtual disk does not tell what it is, so an administrator would.
PRICED_OPTIONS = {"monitors": "disk, memory"}
PRICED_QUEUES = {"hdd-ncq": (1, 32), "hdd": (1, 32), "ssd": (32, 64), "memory": (32, 64)}  # as of disks that tell: reads, writes


def start_priced(lab):
    """canfs-priced beside the kernel's server."""
    reads, writes = PRICED_QUEUES[lab.disk.device]
    job = lab.server.guest.run("priced", lab.program("canfs-priced"), "--config", config_file(
        lab.server.guest, "priced", PRICED_OPTIONS | {"disk_read_queue": reads, "disk_write_queue": writes}))
    serves = lab.server.guest.run("priced-serves", "bash", "-c", 'until "$1" server prices >&2; do sleep 0.2; done', "bash",
                                  lab.program("canfsctl"))
    wait_for(lambda: job.is_done() or serves.is_done(), STOP_SECONDS, "prices of canfs-priced")
    if job.is_done():
        raise LabError(f"canfs-priced ended by itself: {job.errors()}")


def config_file(client, section, values):
    config = client.directory / f"{section}.conf"
    config.write_text(f"[{section}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items()), encoding="utf-8")
    return config


def agent_command(lab, config):
    return [lab.program("canfs-agent"), "--config", config]


def wait_for_verdict(job):
    """For a trial that has no time for WARM_UP_SECONDS: until the agent has held its first auction."""
    wait_for(lambda: VERDICT in job.errors(), STOP_SECONDS, f"{job.client.name}: the agent's first verdict")


def start_agents(lab, clients, options, name="agent", warm_up=None):
    """One agent per guest, in enforce mode; options: more lines of its configuration; name: of the job, new
    if this is not the guest's first agent; warm_up(job): instead of WARM_UP_SECONDS."""
    jobs = []
    for client in clients:
        config = config_file(client, "agent", {"mode": "enforce"} | options)
        jobs.append(client.run(name, *agent_command(lab, config)))
    if not warm_up:
        time.sleep(WARM_UP_SECONDS)
    for job in jobs:
        if warm_up:
            warm_up(job)
        if job.is_done():
            job.wait(0)
            raise LabError(f"the agent on {job.client.name} ended by itself")
    return jobs


def stop_agents(jobs):
    """SIGTERM, so that each restores its client's knobs. Returns {guest: log}."""
    for job in jobs:
        job.signal("TERM")
    for job in jobs:
        job.wait(STOP_SECONDS)
    return {job.client.name: job.errors() for job in jobs}


class PriceWatch:
    """Samples the prices which the server publishes, beside its clients."""

    def __init__(self, lab, interval_seconds=WATCH_INTERVAL_SECONDS):
        self.begin = time.monotonic()
        self._samples = []
        self._process = lab.spawn_beside_server(
            lab.program("canfsctl"), "price", f"--watch={interval_seconds}", "--json",
            "--port=2049", "--mount-port=20048", lab.source(), stdout=subprocess.PIPE)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._process.stdout:
            sample = json.loads(line)
            sample["seconds"] = round(time.monotonic() - self.begin, 3)
            self._samples.append(sample)

    def stop(self):
        """[{seconds since the start, write, read_ahead, bottleneck, ...}]"""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()
        return self._samples
