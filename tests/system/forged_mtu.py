#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A message that packets are too large for the path, which anyone on the network can forge (ICMP "fragmentation needed",
ICMPv6 "packet too big"), harms no connection, as with a NIC, though the kernel believes it. usage: forged_mtu.py CASE, or
forged_mtu.py send VICTIM PEER"""

import ipaddress
import socket
import struct
import subprocess
import sys

import harness
from harness import Process

MTU = 9000  # Path MTU 4096
CLAIMED = 1280  # An IPv6 path has no less.
ROCE = 4791


def udp_header():
    return struct.pack("!HHHH", ROCE, ROCE, 1100, 0)


def forged_ipv4(victim, peer):
    inner = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 1120, 0, 0x4000, 64, socket.IPPROTO_UDP, 0, victim.packed, peer.packed)
    message = struct.pack("!BBHHH", 3, 4, 0, 0, CLAIMED) + inner + udp_header()
    total = sum(struct.unpack(f"!{len(message) // 2}H", message))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack("!H", total ^ 0xFFFF) + message[4:]


def forged_ipv6(victim, peer):
    inner = struct.pack("!IHBB16s16s", 6 << 28, 1100, socket.IPPROTO_UDP, 64, victim.packed, peer.packed)
    return struct.pack("!BBHI", 2, 0, 0, CLAIMED) + inner + udp_header()  # The kernel adds the checksum.


def send(victim, peer):
    """To VICTIM: what it has sent to PEER was too large."""
    ends = [ipaddress.ip_address(text) for text in (victim, peer)]
    if ends[0].version == 4:
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
            icmp.sendto(forged_ipv4(*ends), (victim, 0))
    else:
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as icmp:
            icmp.sendto(forged_ipv6(*ends), (victim, 0))


def is_believed(peer):
    route = subprocess.run(["ip", "route", "get", peer], capture_output=True, text=True, check=True).stdout
    return f"mtu {CLAIMED}" in route


def pair(index, address):
    harness.need_programs("ibv_rc_pingpong", "rping")
    here, other = harness.two_hosts(MTU)
    # The kernel believes what is about a socket of its own: a listener has one on port 4791.
    listener = Process(harness.urxe_run(["rping", "-s", "-P", "-a", address(here)]), "listener")
    forge = other.command([sys.executable, "-B", __file__, "send", address(here), address(other)])

    def is_tried():
        harness.expect(listener.running(), "the listener ended")
        subprocess.run(forge, check=True)
        return is_believed(address(other))

    harness.wait_until(is_tried, "the kernel to believe the message")
    port = harness.free_port()
    words = ["ibv_rc_pingpong", "-d", here.device, "-g", index, "-p", str(port), "-s", "65536", "-n", "50", "-m", "4096"]
    server = Process(harness.urxe_run(words), "server")
    server.wait_for_listener(port)
    client = Process(other.command(harness.urxe_run([*words, here.ipv4])), "client")
    for process in (client, server):
        process.expect_success()
    harness.expect(is_believed(address(other)), "the kernel has forgotten the message, so this has shown nothing")


def ipv4():
    pair("1", lambda host: host.ipv4)


def ipv6():
    pair("2", lambda host: host.ipv6)


CASES = {"ipv4": ipv4, "ipv6": ipv6}


def test():
    if sys.argv[1] == "send":
        send(*sys.argv[2:])
    else:
        CASES[sys.argv[1]]()


harness.main(test)
