#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A stock pingpong program over urxe on one address.

usage: pingpong.py [--program P] [--pairs N] [OPTION OF THE PROGRAM...]

P is ibv_rc_pingpong where nothing else is said.
"""

import re
import sys

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
    harness.isolate()
    if "-g" not in arguments:
        arguments += ["-g", "0"]
    ports = [harness.free_port() for _ in range(pairs)]
    command = lambda port: harness.urxe_run([program, "-d", "urxe_lo", "-p", str(port), *arguments])
    servers = [Process(command(port), name="server") for port in ports]
    for server, port in zip(servers, ports):
        server.wait_for_listener(port)
    clients = [Process(command(port) + ["localhost"], name="client") for port in ports]
    for process in clients + servers:
        check(program, process.expect_success(timeout=300), arguments)
    print(clients[0].output)


harness.main(test)
