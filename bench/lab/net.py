# SPDX-License-Identifier: LGPL-3.0-or-later
"""A network namespace with a bridge: the server's end is the bridge itself, each guest has a tap.
Nothing leads out of it."""

from bench.lab.host import run

SERVER_ADDRESS = "10.77.0.1"
PREFIX = 24


class Network:
    def __init__(self, name, taps):
        self.name = name
        self.taps = taps

    def enter(self):
        """Words to put before a command that is to run inside. (Not `ip netns exec`: that mounts
        a new /sys, which hides the cgroups.)"""
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def start(self):
        run("ip", "netns", "add", self.name)
        self._ip("link set lo up")
        self._ip("link add br0 type bridge forward_delay 0 stp_state 0")
        self._ip(f"address add {SERVER_ADDRESS}/{PREFIX} dev br0")
        self._ip("link set br0 up")
        for tap in range(self.taps):
            self._ip(f"tuntap add dev {self.tap(tap)} mode tap")
            self._ip(f"link set {self.tap(tap)} master br0 up")

    def stop(self):
        run("ip", "netns", "delete", self.name, check=False)

    @staticmethod
    def tap(index):
        return f"tap{index}"

    @staticmethod
    def guest_address(index):
        return f"10.77.0.{10 + index}"

    def _ip(self, words):
        run("ip", "-netns", self.name, *words.split())
