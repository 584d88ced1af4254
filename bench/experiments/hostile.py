# SPDX-License-Identifier: LGPL-3.0-or-later
"""A server whose prices mean nothing: one client's mixed work must not suffer. What its control socket can set is
enough to lie with:

always-0        nothing costs anything
always-1        every write is as expensive as can be
flips           from the one to the other each second
comes-and-goes  for five seconds there are prices, as high as can be, for five there are none

Each case is the same work: a file is written at full speed and closed, read again, another is written by and by and
closed, and small files are made."""

import contextlib
import json
import threading

from bench.experiments import canfs
from bench.experiments.figure import Asked, Figure
from bench.lab.lab import Guest

HONEST = {"pmax": 1, "drain": "off", "publish": "on"}
FREE, HIGH, NONE = HONEST | {"pmax": 0}, HONEST | {"drain": "on"}, HONEST | {"publish": "off"}
# What is set, second after second, and again from the first.
LIES = {"always-0": [FREE], "always-1": [HIGH], "flips": [FREE, HIGH], "comes-and-goes": [HIGH] * 5 + [NONE] * 5}
NEVER_BELOW = 0.9  # of the speed of stock

WORK = """set -e
mkdir "$1"; begin=$EPOCHREALTIME
dd if=/dev/zero of="$1/big" bs=1M count="$2" status=none
written=$EPOCHREALTIME
cat "$1/big" >/dev/null
streams=$EPOCHREALTIME
"$4" --mb "$5" --rate-mb "$6" "$1/stream" >/dev/null
streamed=$EPOCHREALTIME
for ((i = 0; i < $3; i++)); do head -c 8192 /dev/zero >"$1/$i"; done
echo "[$begin, $written, $streams, $streamed, $EPOCHREALTIME]"
"""


@contextlib.contextmanager
def lying(lab, lies):
    """The agents have time to take the first lie for a price."""
    end = threading.Event()

    def lie():
        second = 0
        while not end.wait(1):
            second += 1
            if len(lies) > 1:
                canfs.set_server(lab, **lies[second % len(lies)])

    canfs.set_server(lab, **lies[0])
    liar = threading.Thread(target=lie)
    liar.start()
    try:
        end.wait(canfs.WARM_UP_SECONDS)
        yield
    finally:
        end.set()
        liar.join()


def work(session):
    plan, lab, [client] = session.plan, session.lab, session.clients
    priced, values = lab.server.exports[0][1] == "CANFS", {}
    for case in filter(session.wants, plan.cases):
        session.forget(client)
        with lying(lab, LIES[case]) if priced else contextlib.nullcontext():
            begin, written, streams, streamed, end = json.loads(session.run(
                client, "bash", "-c", WORK, "bash", lab.on_mount(f"out-{case}"), plan.write_mb, plan.files_made,
                lab.program("canfs-job-write"), plan.stream_mb, plan.rate_mb))
        values[case] = {"seconds": end - begin, "write_seconds": written - begin, "stream_seconds": streamed - streams}
    return values


FIGURE = Figure(
    "hostile", "mixed work beside prices that mean nothing", lambda lab, plan: None,
    lambda plan: [Guest("a", plan.guest_mib)], work,
    units={"seconds": "s", "write_seconds": "s", "stream_seconds": "s"}, variants=("stock", "canfs"), knobs=(), cost=None,
    asked=(Asked("seconds", "at most", round(1 / NEVER_BELOW, 3), "stock"),),
    panels=("seconds", "write_seconds", "stream_seconds", "held"),
    full={"files": "no files", "cases": tuple(LIES), "guest_mib": 512, "write_mb": 400, "stream_mb": 150,
          "rate_mb": 25, "files_made": 100},
    quick={"guest_mib": 256, "write_mb": 120, "stream_mb": 60, "files_made": 20})
