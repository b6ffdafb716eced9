#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Datagrams to multicast groups reach every member once. usage: multicast.py CASE"""

import subprocess
import sys

import harness
from harness import Process

DATAGRAMS = "100"  # Few enough for any receive buffer, so that none is lost.


def member(device, group, queue_pairs=1, prefix=lambda command: command):
    command = harness.urxe_run([harness.binary("urxe_multicast"), device, "0", group, "receive",
                                str(queue_pairs), DATAGRAMS])
    process = Process(prefix(command), name=f"member on {device}")
    harness.wait_until(lambda: "ready" in process.output or not process.running(), "a member to join")
    if not process.running():
        process.show()
        harness.fail("a member ended")
    return process


def send(device, gid_index, group):
    command = [harness.binary("urxe_multicast"), device, str(gid_index), group, "send", DATAGRAMS]
    Process(harness.urxe_run(command), name="sender").expect_success()


def on_loopback(group, gid_index):
    members = [member("urxe_lo", group), member("urxe_lo", group, queue_pairs=3)]
    send("urxe_lo", gid_index, group)
    for process in members:
        process.expect_success()


def loopback_ipv4():
    harness.isolate()
    on_loopback("239.7.9.1", 0)


def loopback_ipv6():
    harness.need_namespaces()
    refused = Process(harness.urxe_run([harness.binary("urxe_multicast"), "urxe_lo", "1", "ff0e::79", "receive",
                                        "1", "1"]))
    harness.expect(refused.wait() != 0 and "ip -6 route add" in refused.output, "no word of the missing route")
    subprocess.run(["ip", "-6", "route", "add", "local", "ff00::/8", "dev", "lo"], check=True)
    on_loopback("ff0e::79", 1)


def on_veth(group, gid_index):
    """Members on both hosts, several on one; the sender is on one of the hosts."""
    here, other = harness.two_hosts()
    members = [member(here.device, group), member(other.device, group, queue_pairs=2, prefix=other.command),
               member(other.device, group, prefix=other.command)]
    send(here.device, gid_index, group)
    for process in members:
        process.expect_success()


def perftest():
    harness.need_programs("ib_send_bw")
    harness.need_namespaces()
    subprocess.run(["ip", "-6", "route", "add", "local", "ff00::/8", "dev", "lo"], check=True)
    port = harness.free_port()
    command = harness.urxe_run(["ib_send_bw", "-c", "UD", "-g", "-d", "urxe_lo", "-x", "1", "-n", "100", "-s", "1024",
                                "-F", "-p", str(port)])
    _, client = harness.run_pair(command, [*command, "127.0.0.1"], port)
    print(client)


CASES = {
    "loopback_ipv4": loopback_ipv4,
    "loopback_ipv6": loopback_ipv6,
    # The GID table: 0 the link-local address, 1 IPv4, 2 IPv6.
    "veth_ipv4": lambda: on_veth("239.7.9.2", 1),
    "veth_ipv6": lambda: on_veth("ff0e::79:2", 2),
    "veth_link_local": lambda: on_veth("ff02::79:3", 0),
    "perftest": perftest,
}

harness.main(lambda: CASES[sys.argv[1]]())
