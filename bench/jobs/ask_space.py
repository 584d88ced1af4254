#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""ask_space.py ADDRESS ADDRESSES DIRECTORY EXPORTS: asks for the space of each of the exports "0", "1" ... below DIRECTORY, over NFSv3, as
client number I % ADDRESSES of clients.py's: as agents do before they subscribe."""

import ipaddress
import sys

from clients import MNT, MOUNT, MOUNT_PORT, Client, handle, opaque

FSSTAT = 18


def main(first, addresses, directory, exports):
    for number in range(exports):
        address = ipaddress.ip_address(first) + number % addresses
        root = Client(address, MOUNT_PORT, MOUNT).call(MNT, opaque(f"{directory}/{number}".encode()))
        Client(address).call(FSSTAT, handle(root))
    print("{}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
