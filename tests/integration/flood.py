# SPDX-License-Identifier: LGPL-3.0-or-later
"""Keeps lo so busy that it is full, if its speed is said to be 1 Mbit/s: its price is the highest then, whatever the machine
does. Nobody listens at the port."""

import socket
import time

DATAGRAMS, BYTES, PAUSE_SECONDS = 100, 1000, 0.02  # 40 Mbit/s

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
    while True:
        for _ in range(DATAGRAMS):
            flood.sendto(bytes(BYTES), ("127.0.0.1", 9))
        time.sleep(PAUSE_SECONDS)
