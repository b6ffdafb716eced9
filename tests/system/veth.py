#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traffic between two network namespaces joined by veth. usage: veth.py CASE"""

import sys

import harness


def pingpong_with(arguments, mtu=1500):
    with harness.veth_pair(mtu) as (other, ours, _theirs):
        port = harness.free_port()
        command = lambda interface: harness.urxe_run(
            ["ibv_rc_pingpong", "-d", f"urxe_{interface}", "-p", str(port), *arguments])
        _, client = harness.run_pair(command("urxa"), other.command(command("urxb") + [ours]), port)
        print(client)


def verify_with(gid_index, mtu=1500, path_mtu=1024):
    with harness.veth_pair(mtu) as (other, ours, _theirs):
        port = harness.free_port()
        command = lambda interface: harness.urxe_run(
            [harness.binary("urxe_rc_verify"), "-d", f"urxe_{interface}", "-p", str(port), "-g", str(gid_index)])
        options = ["--mtu", str(path_mtu), "--batches", "10", "--max-size", "300000", "--budget", "1000000"]
        _, client = harness.run_pair(command("urxa"), other.command(command("urxb") + [*options, ours]), port,
                                     timeout=300)
        print(client)


# The GID table: 0 the link-local address, 1 IPv4, 2 IPv6.
CASES = {
    "pingpong_link_local": lambda: pingpong_with(["-g", "0", "-c"]),
    "pingpong_ipv4": lambda: pingpong_with(["-g", "1", "-c"]),
    "pingpong_ipv6": lambda: pingpong_with(["-g", "2", "-c"]),
    "pingpong_mtu4096": lambda: pingpong_with(["-g", "1", "-m", "4096", "-s", "1000000"], mtu=4500),
    "verify_ipv4": lambda: verify_with(1),
    "verify_ipv6": lambda: verify_with(2),
    "verify_mtu4096": lambda: verify_with(1, mtu=4500, path_mtu=4096),
}


def test():
    harness.need_programs("ibv_rc_pingpong")
    harness.need_namespaces()
    CASES[sys.argv[1]]()


harness.main(test)
