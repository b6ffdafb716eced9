# SPDX-License-Identifier: BSD-2-Clause
"""A tap: a network interface of this process's namespace whose other end is a descriptor. It goes with the descriptor."""

import fcntl
import os
import struct
import subprocess

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000


def open_tap(name):
    """The descriptor, one frame a read or write. Without IFF_VNET_HDR neither end hands the other a frame with its
    checksum or its division into packets left to do: what a capture shows is what would be on a wire."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def configure(interface, addresses, mtu):
    for command in configuration(interface, addresses, mtu):
        subprocess.run(command, check=True)


def configuration(interface, addresses, mtu):
    """The commands that give it the addresses (with prefix lengths) and the MTU and take it up. Without the wait for
    duplicate addresses, they are usable at once."""
    return [
        ["sysctl", "-q", "-w", f"net.ipv6.conf.{interface}.accept_dad=0"],
        ["ip", "link", "set", interface, "mtu", str(mtu)],
        *(["ip", "addr", "add", address, "dev", interface, *(["nodad"] if ":" in address else [])] for address in addresses),
        ["ip", "link", "set", interface, "up"],
    ]
