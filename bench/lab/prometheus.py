# SPDX-License-Identifier: LGPL-3.0-or-later
"""An agent beside the server, as an administrator sets it up, and a real Prometheus that scrapes it and has our alerts.

    with Prometheus(lab, directory, interval_seconds=15) as prometheus:
        prometheus.alerts()                 # [{"state": "firing", "labels": {...}, ...}]
        prometheus.query_range("up", 60)    # of the last minute: [{"metric": {...}, "values": [[time, "1"], ...]}]

Both run until the block ends, in the lab's network; the agent in the mount namespace of the server, whose /run it sees. A server that is
started again is the same for them."""

import contextlib
import json
import sys
import time
import urllib.parse
from pathlib import Path

from bench.lab.host import LabError, end, run, spawn, tail, wait_for

RULES = Path(__file__).resolve().parents[2] / "packaging/prometheus/canfs.rules.yml"
LISTEN = "127.0.0.1:9090"
AGENT = "127.0.0.1:9105"
START_SECONDS = 30
FETCH = "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
AGENT_CONFIG = """[agent]
state_dir = {directory}/agent
metrics_listen = {listen}
servers = /run/canfs/ganesha.sock
"""
CONFIG = """global:
  scrape_interval: {interval}s
  evaluation_interval: {interval}s
rule_files: ["{rules}"]
scrape_configs:
  - job_name: canfs
    static_configs:
      - targets: ["{target}"]
"""


class Prometheus:
    def __init__(self, lab, directory, interval_seconds, rules=RULES):
        """interval_seconds: from scrape to scrape, and of the alerts; directory: is made."""
        self.lab = lab
        self.directory = Path(directory)
        self.interval_seconds = interval_seconds
        self.rules = rules
        self._undo = contextlib.ExitStack()
        self._processes = {}  # by their logs

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, *_):
        self._undo.close()

    def _start(self):
        (self.directory / "agent").mkdir(parents=True)
        agent, config = self.directory / "agent.conf", self.directory / "prometheus.yml"
        agent.write_text(AGENT_CONFIG.format(directory=self.directory, listen=AGENT), encoding="ascii")
        config.write_text(CONFIG.format(interval=self.interval_seconds, rules=self.rules, target=AGENT), encoding="ascii")
        self._spawn("agent.log", "nsenter", f"--target={self.lab.server.pid}", "--mount", "--net", self.lab.program("canfs-agent"), "--config", agent)
        self._spawn("prometheus.log", *self.lab.network.enter(), "prometheus", f"--config.file={config}",
                    f"--storage.tsdb.path={self.directory}/tsdb", f"--web.listen-address={LISTEN}")
        wait_for(self._scrapes, START_SECONDS, "Prometheus sees the server")

    def _spawn(self, log, *command):
        output = self._undo.enter_context(open(self.directory / log, "wb"))
        process = spawn(*command, stdout=output, stderr=output)
        self._undo.callback(end, process)
        self._processes[log] = process

    def _scrapes(self):
        for log, process in self._processes.items():
            if process.poll() is not None:
                raise LabError(f"ended by itself: {tail(self.directory / log)}")
        try:
            return bool(self.query("canfs_server_up == 1"))
        except LabError:
            return False  # it does not listen yet

    def _ask(self, what, **arguments):
        url = f"http://{LISTEN}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        return json.loads(run(*self.lab.network.enter(), sys.executable, "-c", FETCH, url))["data"]

    def query(self, expression):
        return self._ask("query", query=expression)["result"]

    def query_range(self, expression, seconds):
        """The last so many seconds."""
        now = time.time()
        return self._ask("query_range", query=expression, start=now - seconds, end=now, step=self.interval_seconds)["result"]

    def alerts(self):
        """That fire, or would if they went on."""
        return self._ask("alerts")["alerts"]
