#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A stock pingpong program over urxe.

usage: pingpong.py [--program P] [--pairs N] [OPTION OF THE PROGRAM...]

P is ibv_rc_pingpong where nothing else is said. `-g` counts the GIDs of a loopback interface.
"""

import re
import sys

import ends
import harness
from harness import Process


def option(arguments, name, default):
    return int(arguments[arguments.index(name) + 1]) if name in arguments else default


DEFAULT_SIZES = {"ibv_ud_pingpong": 1024}  # 2048 as it says, but it asks for that only with -s


def check(program, output, arguments):
    iterations = option(arguments, "-n", 1000)
    size = option(arguments, "-s", DEFAULT_SIZES.get(program, 4096))
    moved = re.search(r"^(\d+) bytes in ", output, re.M)
    harness.expect(moved and int(moved[1]) == 2 * size * iterations, f"bytes moved are wrong:\n{output}")
    harness.expect(re.search(rf"^{iterations} iters in ", output, re.M), f"iterations are wrong:\n{output}")
    harness.expect("invalid data" not in output, output)


def test():
    arguments = sys.argv[1:]
    program, pairs = "ibv_rc_pingpong", 1
    if arguments[:1] == ["--program"]:
        program, arguments = arguments[1], arguments[2:]
    if arguments[:1] == ["--pairs"]:
        pairs, arguments = int(arguments[1]), arguments[2:]
    harness.need_programs(program)
    path = ends.make()
    gid = path.gid(option(arguments, "-g", 0))
    ports = [harness.free_port() for _ in range(pairs)]
    words = lambda port: [program, "-d", path.device, "-p", str(port), *arguments, "-g", gid]
    servers = [Process(path.server(words(port)), name="server") for port in ports]
    for server, port in zip(servers, ports):
        server.wait_for_listener(port)
    clients = [Process(path.client([*words(port), path.address]), name="client") for port in ports]
    for process in clients + servers:
        check(program, process.expect_success(timeout=300), arguments)
    path.expect_carried()
    print(clients[0].output)


harness.main(test)
