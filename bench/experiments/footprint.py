# SPDX-License-Identifier: LGPL-3.0-or-later
"""footprint: what CANFS adds to the server's memory while many files are read.

One server after the other, first `stock` (VFS) and then `canfs` (CANFS over VFS), serves 10 million
READs of 4 KB, in random order, of 1 million files. Ganesha's metadata cache holds a tenth of them, so
that objects are made and dropped all the time, ours among them. How much more the resident set of
`canfs` has grown than that of `stock` must stay below what ganesha-canfs-config(8) publishes."""

import contextlib
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass

from bench.experiments.options import Options as CommonOptions
from bench.lab.ganesha import Ganesha
from bench.lab.host import LabError, end, get, run as run_command
from bench.lab.lab import Lab
from bench.lab.net import SERVER_ADDRESS
from bench.lab.report import Results

NAME = "footprint"
HELP = "resident memory of the server over 10 million READs of 1 million files, with and without CANFS"
RUNS = 1
DEVICE = "none"
STACKS = {"stock": "VFS", "canfs": "CANFS"}
CASE = "many-files"
FILES_PER_DIRECTORY = 1000  # as in bench/jobs/many.c
FILE_BYTES = 4096
INODE_BYTES = 256
SETTLE_SECONDS = 2
TIMEOUT_SECONDS = 1800

# MEMORY of ganesha-canfs-config(8), for one export and no connection to the control socket.
GHOSTS_BYTES = 16 << 20
CLIENTS_BYTES = 42 << 10
EXPORT_BYTES = 24 << 10
OBJECT_BYTES = 160


class Options(CommonOptions):
    def files(self):
        return 50_000 if self.quick else 1_000_000

    def reads(self):
        return 10 * self.files()

    def entries(self):
        """Objects that Ganesha keeps; of a million files its default."""
        return self.files() // 10

    def bound_bytes(self):
        return GHOSTS_BYTES + CLIENTS_BYTES + EXPORT_BYTES + OBJECT_BYTES * self.entries()


@dataclass
class Trial:
    case: str
    variant: str
    rss_bytes: list  # [(lookups, reads, bytes)], as they were done


class FootprintResults(Results):
    def __init__(self, bound_bytes):
        super().__init__(NAME)
        self.bound_mib = bound_bytes / 2**20

    def table(self):
        text = super().table()
        stock, canfs = (self.median(CASE, variant, "growth") for variant in STACKS)
        if stock is None or canfs is None:
            return text
        verdict = "good" if canfs - stock <= self.bound_mib else "MISSED"
        whole = self.median(CASE, "canfs", "rss_end") - self.median(CASE, "stock", "rss_end")
        return (f"{text}\n\ncanfs has grown by {canfs - stock:.1f} MiB more than stock: {verdict}, "
                f"{self.bound_mib:.1f} MiB are published\n"
                f"(with what it takes before the first request {whole:.1f} MiB)")


@contextlib.contextmanager
def file_system(lab, files):
    """Sparse files on a file system of their own. (A lab that is killed leaves it to the next one's
    sweep, which knows it by its names.)"""
    mount = lab.directory / "many" / "export"
    image = lab.directory / "many.img"
    mount.mkdir(parents=True)
    with open(image, "wb") as file:
        file.truncate(files * (2 * INODE_BYTES + 256) + (1 << 30))
    run_command("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-m", 0, "-I", INODE_BYTES, "-N",
                files + files // 10, "-E", "nodiscard,lazy_itable_init=0", image, timeout=120)
    run_command("mount", "-o", "loop,noatime", image, mount)
    try:
        make_files(mount, files)
        yield mount
    finally:
        run_command("umount", mount, check=False)
        image.unlink()


def make_files(mount, files):
    for number in range(files):
        if number % FILES_PER_DIRECTORY == 0:
            directory = mount / str(number // FILES_PER_DIRECTORY)
            directory.mkdir()
            place = f"{directory}/"
        file = os.open(place + str(number % FILES_PER_DIRECTORY), os.O_WRONLY | os.O_CREAT, 0o644)
        os.ftruncate(file, FILE_BYTES)
        os.close(file)
    run_command("sync", "-f", mount)


def resident_bytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", get(f"/proc/{pid}/status"))[1]) << 10


def serve(lab, mount, variant, options, say):
    """One server's life. Returns a Trial."""
    with Ganesha([(str(mount), STACKS[variant])], lab.name, lab.directory / f"ganesha-{variant}",
                 options=options.server, build=lab.build,
                 blocks={"MDCACHE": {"Entries_HWMark": options.entries()}}) as ganesha:
        time.sleep(SETTLE_SECONDS)
        seen = [(0, 0, resident_bytes(ganesha.pid))]
        job = lab.spawn_beside_server(
            lab.program("canfs-job-many"), f"--files={options.files()}",
            f"--reads={options.reads()}", SERVER_ADDRESS, mount, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        try:
            for line in job.stdout:
                done = json.loads(line)
                lookups = done.get("lookups", options.files())
                seen.append((lookups, done.get("reads", 0), resident_bytes(ganesha.pid)))
                if len(seen) % 4 == 1:
                    say(f"{variant}: {lookups} files looked up, {seen[-1][1]} reads: "
                        f"{seen[-1][2] / 2**20:.1f} MiB, {seen[0][2] / 2**20:.1f} at the start")
            if job.wait(TIMEOUT_SECONDS) != 0:
                raise LabError(f"canfs-job-many: {job.stderr.read().strip()}")
        finally:
            end(job)
    return Trial(CASE, variant, seen)


def add(results, trial):
    start, peak, last = (trial.rss_bytes[0][2], max(entry[2] for entry in trial.rss_bytes),
                         trial.rss_bytes[-1][2])
    for metric, value in (("rss_start", start), ("rss_peak", peak), ("rss_end", last),
                          ("growth", last - start)):
        results.add(CASE, DEVICE, trial.variant, metric, "MiB", value / 2**20)


def run(build, options, say, keep=None):
    """say(text) reports progress; keep(trial), if given, gets every trial. Returns Results."""
    results = FootprintResults(options.bound_bytes())
    say(f"setting up: network, {options.files()} files")
    with Lab(build, disk=options.disk) as lab, file_system(lab, options.files()) as mount:
        for _ in range(options.runs):
            for variant in STACKS:
                if options.variants and variant not in options.variants:
                    continue
                trial = serve(lab, mount, variant, options, say)
                add(results, trial)
                if keep:
                    keep(trial)
    return results
