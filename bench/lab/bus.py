# SPDX-License-Identifier: LGPL-3.0-or-later
"""A DBus message bus of its own for one NFS-Ganesha, and calls to its export manager."""

import subprocess
from pathlib import Path

from bench.lab.host import end, spawn, wait_for

START_SECONDS = 20
CONFIG = """<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/></policy></busconfig>
"""


class Bus:
    """To be used as a context; wrapper: that of the Ganesha."""

    def __init__(self, directory):
        self.socket = Path(directory) / "bus"
        self.config = Path(directory) / "bus.conf"
        self.config.write_text(CONFIG.format(path=self.socket))
        self.address = f"unix:path={self.socket}"
        self.wrapper = ["env", f"DBUS_SYSTEM_BUS_ADDRESS={self.address}"]

    def __enter__(self):
        self.daemon = spawn("dbus-daemon", f"--config-file={self.config}", "--nofork", stderr=subprocess.DEVNULL)
        wait_for(self.socket.exists, START_SECONDS, "the bus is there")
        return self

    def __exit__(self, *_):
        end(self.daemon)

    def start(self, method, *arguments):
        """The process that calls the export manager; its exit code 0: it was done."""
        return spawn("dbus-send", f"--bus={self.address}", "--print-reply", "--dest=org.ganesha.nfsd", "/org/ganesha/nfsd/ExportMgr",
                     f"org.ganesha.nfsd.exportmgr.{method}", *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, method, *arguments):
        """Returns success."""
        return self.start(method, *arguments).wait() == 0
