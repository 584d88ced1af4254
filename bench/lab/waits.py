# SPDX-License-Identifier: LGPL-3.0-or-later
"""Where the threads of a process wait in the kernel, sampled."""

import threading
from collections import Counter
from pathlib import Path

INTERVAL_SECONDS = 0.1
RUNNING = "0"  # what the kernel says of a thread that does not wait


class Waits:
    """From the beginning until stop(), or the end of `with`."""

    def __init__(self, pid):
        self._tasks = Path(f"/proc/{pid}/task")
        self._seen = Counter()
        self._samples = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()

    def _run(self):
        while not self._over.wait(INTERVAL_SECONDS):
            self._samples += 1
            for wchan in self._tasks.glob("*/wchan"):
                try:
                    self._seen[wchan.read_text(encoding="ascii") or RUNNING] += 1
                except OSError:
                    pass  # the thread has ended

    def stop(self):
        """{function of the kernel: threads that were in it, on average}, the most frequent first"""
        self._over.set()
        self._thread.join()
        return {name: round(count / max(1, self._samples), 2) for name, count in self._seen.most_common()}
