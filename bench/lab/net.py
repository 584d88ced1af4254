# SPDX-License-Identifier: LGPL-3.0-or-later
"""A network namespace with a bridge: the server's end is the bridge itself, each guest has a tap.
Nothing leads out of it. A Link is one more way to the bridge, with a known speed and delay."""

from bench.lab.host import run

SERVER_ADDRESS = "10.77.0.1"
PREFIX = 24
# By itself a bridge takes the lowest of its ports' addresses. When that port is cut, what its guest sends would still be for the host, and heard.
BRIDGE_MAC = "02:00:00:00:00:01"
FIRST_CLIENT, CLIENTS_NETWORK = "10.78.0.1", "10.78.0.0/16"  # of Network.answer_everywhere()
FAR_INDEX = 200  # no guest has it
FAR_GUESTS_INDEX = 100  # and on


class Network:
    delay_ms = 0  # of what a guest sends
    address = SERVER_ADDRESS

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
        self._ip(f"link add br0 address {BRIDGE_MAC} type bridge forward_delay 0 stp_state 0")
        self._ip(f"address add {SERVER_ADDRESS}/{PREFIX} dev br0")
        self._ip("link set br0 up")
        for tap in range(self.taps):
            self._ip(f"tuntap add dev {self.tap(tap)} mode tap")
            self._ip(f"link set {self.tap(tap)} master br0 up")

    def stop(self):
        run("ip", "netns", "delete", self.name, check=False)

    def cut(self, index):
        """Out of the bridge until join(), not down: a guest's interface does not survive that its tap goes down."""
        self._ip(f"link set {self.tap(index)} nomaster")

    def join(self, index):
        self._ip(f"link set {self.tap(index)} master br0")

    def answer_everywhere(self):
        """The server has all addresses of CLIENTS_NETWORK, too. What is sent to one of them from here comes from there: so one
        process can be thousands of clients."""
        self._ip(f"route replace local {CLIENTS_NETWORK} dev lo")

    def answer_nowhere(self):
        """After that: what is sent to one of them waits for a neighbour that does not answer, and is lost."""
        self._ip(f"route delete local {CLIENTS_NETWORK} dev lo")
        self._ip(f"route replace {CLIENTS_NETWORK} dev br0")

    @staticmethod
    def tap(index):
        return f"tap{index}"

    @staticmethod
    def guest_address(index):
        return f"10.77.0.{10 + index}"

    def _ip(self, words):
        run("ip", "-netns", self.name, *words.split())


class Link:
    """A namespace of its own for clients that run on the host, joined to the network by a wire
    whose speed from the server to them is shaped. In the server's namespace it is `interface`.
    With taps it has a bridge, for guests (Lab.start_clients), and is shaped in both directions; delay_ms: what
    a guest sends takes so much longer, so that its round trips do. (In the guest, by netem, which hosts may lack.)"""

    interface = "wire0"

    def __init__(self, network, mbit_per_sec, taps=0, delay_ms=0):
        self.network = network
        self.delay_ms = delay_ms
        self.mbit_per_sec = mbit_per_sec
        self.taps = taps
        self.name = f"{network.name}-far"

    def enter(self):
        return ["nsenter", f"--net=/run/netns/{self.name}"]

    def start(self):
        run("ip", "netns", "add", self.name)
        near, far = (("ip", "-netns", name) for name in (self.network.name, self.name))
        run(*near, "link", "add", self.interface, "type", "veth", "peer", "name", "wire1",
            "netns", self.name)
        # As on a real wire each packet has its own header: without this the kernel counts one per 64 KB.
        run(*near, "link", "set", self.interface, "gso_max_segs", 1)
        run(*near, "link", "set", self.interface, "master", "br0", "up")
        run(*far, "link", "set", "lo", "up")
        run(*far, "link", "set", "wire1", "up")
        self._shape(self.network.name, self.interface)
        here = "wire1"
        if self.taps:
            here = "br1"
            self._shape(self.name, "wire1")
            run(*far, "link", "set", "wire1", "gso_max_segs", 1)
            run(*far, "link", "add", here, "type", "bridge", "forward_delay", 0, "stp_state", 0)
            run(*far, "link", "set", "wire1", "master", here)
            for index in range(self.taps):
                run(*far, "tuntap", "add", "dev", self.tap(index), "mode", "tap")
                run(*far, "link", "set", self.tap(index), "master", here, "up")
            run(*far, "link", "set", here, "up")
        run(*far, "address", "add", f"{self.network.guest_address(FAR_INDEX)}/{PREFIX}", "dev", here)

    def tap(self, index):
        return self.network.tap(index)

    def guest_address(self, index):
        return self.network.guest_address(FAR_GUESTS_INDEX + index)

    def _shape(self, namespace, interface):
        run("tc", "-netns", namespace, "qdisc", "add", "dev", interface, "root", "tbf",
            "rate", f"{self.mbit_per_sec}mbit", "burst", "64kb", "latency", "50ms")

    def stop(self):
        run("ip", "netns", "delete", self.name, check=False)
