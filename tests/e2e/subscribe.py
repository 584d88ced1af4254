# SPDX-License-Identifier: LGPL-3.0-or-later
"""subscribe.py SERVER EXPORT ADDRESS...: subscribes to the prices of an export from each address, as an agent there would after its first
FSSTAT, and ends. Prints how many subscriptions there are."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "integration"))
import nfs_probe  # noqa: E402
from price_probe import OK, SUBSCRIBE, Probe  # noqa: E402


def subscribe(server, export, source):
    nfs_probe.SOURCE = source
    nfs_probe.fsstat3(server, export)
    return Probe(server, source).ask(SUBSCRIBE, 3, export, threshold=0)["status"] == OK


if __name__ == "__main__":
    print(sum(subscribe(*sys.argv[1:3], source) for source in sys.argv[3:]))
