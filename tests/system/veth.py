#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Traffic between two hosts. usage: veth.py CASE"""

import sys

import harness


def pair(words, *of_client, mtu):
    """Runs a program with a server here, and a client on the other host."""
    here, there = harness.two_hosts(mtu)
    port = harness.free_port()
    command = lambda host, *more: harness.urxe_run([*words, "-d", host.device, "-p", str(port), *more])
    _, client = harness.run_pair(command(here), there.command(command(there, *of_client, here.ipv4)), port, timeout=300)
    print(client)


def pingpong_with(arguments, mtu=1500):
    harness.need_programs("ibv_rc_pingpong")
    pair(["ibv_rc_pingpong", *arguments], mtu=mtu)


def verify_with(gid_index, mtu=1500, path_mtu=1024):
    pair([harness.binary("urxe_rc_verify"), "-g", str(gid_index)], "--mtu", str(path_mtu), "--batches", "10",
         "--max-size", "300000", "--budget", "1000000", mtu=mtu)


# By the index of the GID.
CASES = {
    "pingpong_link_local": lambda: pingpong_with(["-g", "0", "-c"]),
    "pingpong_ipv4": lambda: pingpong_with(["-g", "1", "-c"]),
    "pingpong_ipv6": lambda: pingpong_with(["-g", "2", "-c"]),
    "pingpong_mtu4096": lambda: pingpong_with(["-g", "1", "-m", "4096", "-s", "1000000"], mtu=4500),
    "verify_ipv4": lambda: verify_with(1),
    "verify_ipv6": lambda: verify_with(2),
    "verify_mtu4096": lambda: verify_with(1, mtu=4500, path_mtu=4096),
}

harness.main(lambda: CASES[sys.argv[1]]())
