# SPDX-License-Identifier: LGPL-3.0-or-later
"""A disk with a distributed file system above it, as the --backend of an experiment: what the server exports is a volume, all of
which lies on the disk, so that all files compete for it wherever the volume puts them."""

from bench.lab import ceph, gluster
from bench.lab.disk import LOCAL, Disk
from bench.lab.host import LabError

_MODULES = {"gluster": gluster, "ceph": ceph}
_VOLUMES = {"gluster": gluster.Gluster, "ceph": ceph.Ceph}


def what_is_missing(settings):
    """Why the lab cannot have a disk with these settings, or None."""
    return _MODULES[settings.backend].what_is_missing() if settings.backend != LOCAL else None


class VolumeDisk(Disk):
    def __init__(self, program, directory, size_mib, log, settings, volume):
        super().__init__(program, directory, size_mib, log, settings)
        self.mount = self.model.parent / "files"
        self.volume = volume
        self.fsal, self.blocks, self.fsal_memory_bytes = volume.fsal_of(self.mount), volume.blocks, volume.fsal_memory_bytes

    def make_file_system(self):
        self.volume.stop()
        if self.volume.on_file_system:
            super().make_file_system()
        self.volume.start(self.own_mount if self.volume.on_file_system else self.loop)
        self.mount.unlink(missing_ok=True)
        self.mount.symlink_to(self.volume.folder(self.mount))

    def forget_server(self):
        self.volume.forget_server()

    def cached_bytes(self, names):
        return self.volume.cached_bytes(self.mount, names)

    def writable(self, is_writable):
        if not is_writable:
            raise LabError(f"--backend {self.settings.backend}: the volume cannot be made read-only")

    def lend(self):
        raise LabError(f"--backend {self.settings.backend}: the disk is in use by the volume")

    def power_cut(self, seed):
        raise LabError(f"--backend {self.settings.backend}: it knows no power cut")

    def stop(self):
        self.let_go()
        self.volume.stop()
        super().stop()


def make_disk(program, directory, size_mib, log, settings, network, memory_bytes):
    """The disk of a lab; network: of the server, memory_bytes: of the storage node, if there is one."""
    if settings.backend == LOCAL:
        return Disk(program, directory, size_mib, log, settings)
    volume = _VOLUMES[settings.backend](network.name, network.address, directory / settings.backend, memory_bytes)
    return VolumeDisk(program, directory, size_mib, log, settings, volume)
