# SPDX-License-Identifier: LGPL-3.0-or-later
"""CANFS over the FSAL of a distributed file system: every operation has the same outcome as without CANFS, prices are published,
what is read ahead is right, and the server ends as it should."""

import contextlib
import difflib

from harness import ADDRESS, BUILD, Load, canfsctl_server, check, eventually, run, skip

OPERATIONS, PATTERNS = (BUILD / "tests" / "integration" / name for name in ("nfs_operations", "nfs_patterns"))
STACKS = {"canfs": "CANFS", "stock": ""}
PROBES = {3: "fsstat3", 4: "getattr4"}
FILE_MIB = 24


def require_programs():
    if not OPERATIONS.exists():
        skip(f"{OPERATIONS} is not built (package libnfs-dev)")


@contextlib.contextmanager
def started(volume, place):
    try:
        volume.start(place)
        yield volume
    finally:
        volume.stop()


def serve(here, volume, names, **more):
    """Exports of a folder of the volume each; names: of STACKS, then anything."""
    exports = {}
    for name in names:
        path = here.disk / name
        volume.folder(path).chmod(0o777)
        exports[name] = f"{STACKS[name[:5]]} {volume.fsal_of(path)}".strip()
    return here.server(exports, options={"Control_Socket": f'"{here.directory}/control"', "Prefetch": "true"}, blocks=volume.blocks,
                       **more)


def url(here, name):
    return f"nfs://{ADDRESS}{here.disk}/{name}/."


def operations_are_the_same(here, volume):
    with serve(here, volume, [f"{stack}{version}" for stack in STACKS for version in PROBES]) as server:
        for version, probe in PROBES.items():
            ours, theirs = (here.in_net(OPERATIONS, url(here, f"{stack}{version}"), version) for stack in STACKS)
            check(ours.count("\n") > 40, f"NFSv{version}: it did nothing:\n{ours}")
            difference = "\n".join(difflib.unified_diff(theirs.split("\n"), ours.split("\n"), "stock", "CANFS", lineterm=""))
            check(not difference, f"NFSv{version}:\n{difference}")
            eventually(lambda: here.probe(probe, f"canfs{version}")[1], f"NFSv{version}: no prices")
            check(not here.probe(probe, f"stock{version}")[1], f"NFSv{version}: prices without CANFS")
        check(server.stop() == 0, "no clean stop")
    volume.forget_server()


def remote(here):
    """What is read ahead through FSALs; None: it is not."""
    return next(iter(canfsctl_server(here.directory / "control", "prefetch")["devices"]), None)


def what_is_read_ahead_is_right(here, volume):
    source = here.directory / "source"
    run(PATTERNS, "make", source, FILE_MIB)
    asks = {f"{here.disk}/canfs-asks": {"Prefetch": "true"}}
    with serve(here, volume, ["canfs-asks", "canfs-plain"], export_options=asks) as server:
        for name in ("canfs-asks", "canfs-plain"):
            here.in_net("nfs-cp", source, f"nfs://{ADDRESS}{here.disk}/{name}/file")
        for number, pattern in enumerate(("forward", "backward", "stride", "shuffle", "random")):
            for name in ("canfs-plain", "canfs-asks"):
                before = remote(here)["prefetch"]["bytes"]
                here.in_net(PATTERNS, "read", url(here, name), 3 + number % 2, "/file", pattern, 64, 4, timeout=60)
                after = remote(here)["prefetch"]["bytes"]
                check(name == "canfs-asks" or after == before, f"{name}, {pattern}: it is read ahead, unasked")
                check(name == "canfs-plain" or after > before or pattern in ("shuffle", "random"),
                      f"{name}, {pattern}: nothing is read ahead: {remote(here)}")
        check(remote(here)["failed"] == 0, f"reads failed: {remote(here)}")
        ends_under_load(here, server)
    volume.forget_server()
    check((volume.folder(here.disk / "canfs-asks") / "file").read_bytes() == source.read_bytes(), "not what was written")


def ends_under_load(here, server):
    """Its data is right afterwards; a client of NFSv4 is no help here, since libnfs does not connect again."""
    with Load(here, "canfs-asks", 3, "stays", "persist") as stays:
        with Load(here, "canfs-asks", 4, "goes") as goes:
            for load in (stays, goes):
                load.goes_on()
            status = server.stop()
            check(status == 0, f"status {status} under load: {server.log_text()[-2000:]}")
        server.start()
        stays.goes_on("after the restart")
        stays.finish()
    check(server.stop() == 0, "no clean stop")
    for word in ("assert", "Abort", "backtrace", "negative"):
        check(word not in server.log_text(), f"the log speaks of {word}: {server.log_text()[-2000:]}")
