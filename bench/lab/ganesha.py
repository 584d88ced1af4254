# SPDX-License-Identifier: LGPL-3.0-or-later
"""Stand-in until the FSAL's own helper is merged."""

import os
from pathlib import Path

from bench.lab.host import LabError, end, put, spawn, tail, wait_for

CONFIG = """
NFS_CORE_PARAM {{ Protocols = 3, 4; NFS_Port = 2049; MNT_Port = 20048; Enable_NLM = false;
  Enable_RQUOTA = false; mount_path_pseudo = false; Plugins_Dir = "{plugins}"; }}
NFSV4 {{ Graceless = true; RecoveryBackend = fs; }}
EXPORT {{ Export_Id = 1; Path = "{path}"; Pseudo = "{path}"; Access_Type = RW; Squash = None;
  SecType = sys; Protocols = 3, 4; FSAL {{ Name = VFS; }} }}
"""
SCRIPT = """
mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib/nfs || exit 1
echo "127.0.0.1 localhost $(hostname)" >/run/hosts; mount --bind /run/hosts /etc/hosts
mkdir -p /run/ganesha /var/lib/nfs/ganesha /run/rpcbind
rpcbind -w -f & sleep 0.2
exec ganesha.nfsd -F -L "$1" -f "$2" -p /run/ganesha.pid
"""


class Ganesha:
    def __init__(self, network, directory, export, memory_bytes):
        self.network, self.directory, self.export = network, Path(directory), export
        self.cgroup = Path("/sys/fs/cgroup/memory") / network.name
        self.memory_bytes = memory_bytes
        self.process = None

    def start(self):
        self.directory.mkdir(parents=True, exist_ok=True)
        self.cgroup.mkdir(exist_ok=True)
        put(self.cgroup / "memory.limit_in_bytes", self.memory_bytes)
        log, conf = self.directory / "log", self.directory / "conf"
        log.unlink(missing_ok=True)
        conf.write_text(CONFIG.format(path=self.export, plugins="/usr/lib/x86_64-linux-gnu/ganesha"))
        out = open(self.directory / "out", "wb")
        self.process = spawn("sh", "-c", 'echo $$ >"$0" && exec "$@"', self.cgroup / "cgroup.procs",
                             *self.network.enter(), "unshare", "-m", "--propagation", "private",
                             "sh", "-c", SCRIPT, "ganesha", log, conf, stdout=out, stderr=out)

        def up():
            if self.process.poll() is not None:
                raise LabError("ganesha died: " + tail(self.directory / "out") + tail(log))
            return log.exists() and "NFS SERVER INITIALIZED" in log.read_text(errors="replace")
        wait_for(up, 20, "ganesha")

    def stop(self):
        end(self.process)
        self.process = None
        try:
            self.cgroup.rmdir()
        except OSError:
            pass
