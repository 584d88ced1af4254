# SPDX-License-Identifier: LGPL-3.0-or-later
"""A memory cgroup (v1 or v2): what a server has of memory, its page cache included."""

import os
import time
from pathlib import Path

from bench.lab.host import LabError

V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
DYING_SECONDS = 5


class MemoryCgroup:
    def __init__(self, name, limit_bytes):
        base, limit = (V1, "memory.limit_in_bytes") if V1.is_dir() else (V2, "memory.max")
        self.path = base / f"canfs-{name}-{os.getpid()}"
        try:
            self.path.mkdir(exist_ok=True)
            (self.path / limit).write_text(str(limit_bytes), encoding="ascii")
        except OSError as error:
            raise LabError(f"no memory cgroup for {name}: {error}") from error

    def enter(self):
        """Words to put before a command that is to run inside."""
        return ["sh", "-c", f'echo $$ >"{self.path}/cgroup.procs" && exec "$@"', "sh"]

    def remove(self):
        """Its last process is dead, but maybe not yet gone."""
        deadline = time.monotonic() + DYING_SECONDS
        while True:
            try:
                self.path.rmdir()
                return
            except OSError:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.05)
