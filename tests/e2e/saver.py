# SPDX-License-Identifier: LGPL-3.0-or-later
"""A client that saves documents (save.py), and a check that the server has everything that was reported as saved."""

import save
from harness import HERE, TIMEOUT_SECONDS, check
from bench.lab.lab import MOUNT_POINT

DOCUMENTS = 8
FREE_BYTES = 300 << 10  # not enough for all
FOREVER = 1000000
OLD = "old contents"


def look(path):
    return path.read_bytes() if path.exists() else None


class Saver:
    def __init__(self, shell, mount, name):
        self.shell, self.name = shell, name
        self.directory = mount / name
        self.stop_path = f"/run/{name}.stop"
        shell('mkdir "$1"', f"{MOUNT_POINT}/{name}")

    def make_old(self):
        """On the server, so that no delegation keeps space there: documents that are smaller than the new ones."""
        for number in range(DOCUMENTS):
            (self.directory / f"document-{number}").write_text(OLD)

    def start(self, rounds=FOREVER):
        self.job = self.shell.job("save", "python3", HERE / "save.py", f"{MOUNT_POINT}/{self.name}", DOCUMENTS, rounds, self.stop_path)

    def result(self):
        """{document: [round, lines of its log]}"""
        said = self.job.result(TIMEOUT_SECONDS)
        self.shell("sync || true")
        return said

    def stop(self):
        self.shell(': >"$1"', self.stop_path)
        return self.result()

    def check(self, said):
        """No saved data are lost. A document that could not be saved keeps its old contents."""
        for name, (number, lines) in said.items():
            found = look(self.directory / name)
            wanted = save.document(name, number) if number else OLD.encode("ascii")
            check(found == wanted or (not number and found is None),
                  f"{self.name}/{name}: {found and len(found)} bytes, {(found or b'')[:20]!r}, not round {number}")
            wanted = save.log(name, lines)
            found = look(self.directory / f"{name}.log") or b""
            check(found.startswith(wanted), f"{self.name}/{name}.log: {len(found)} bytes, without the {len(wanted)} that were written")

    def check_some_fit(self):
        self.start(rounds=1)
        said = self.result()
        self.check(said)
        check(any(number == 0 for number, _ in said.values()), "all are saved where there is no space for all")
