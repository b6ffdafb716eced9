#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock ibv_rc_pingpong over urxe on one address.

usage: pingpong.py [--pairs N] [OPTION OF ibv_rc_pingpong...]
"""

import re
import sys

import harness
from harness import Process


def option(arguments, name, default):
    return int(arguments[arguments.index(name) + 1]) if name in arguments else default


def check(output, arguments):
    iterations = option(arguments, "-n", 1000)
    size = option(arguments, "-s", 4096)
    moved = re.search(r"^(\d+) bytes in ", output, re.M)
    harness.expect(moved and int(moved[1]) == 2 * size * iterations, f"bytes moved are wrong:\n{output}")
    harness.expect(re.search(rf"^{iterations} iters in ", output, re.M), f"iterations are wrong:\n{output}")
    harness.expect("invalid data" not in output, output)


def test():
    arguments = sys.argv[1:]
    pairs = 1
    if arguments[:1] == ["--pairs"]:
        pairs = int(arguments[1])
        arguments = arguments[2:]
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    if "-g" not in arguments:
        arguments += ["-g", "0"]
    ports = [harness.free_port() for _ in range(pairs)]
    command = lambda port: harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-p", str(port), *arguments])
    servers = [Process(command(port), name="server") for port in ports]
    for server, port in zip(servers, ports):
        server.wait_for_listener(port)
    clients = [Process(command(port) + ["localhost"], name="client") for port in ports]
    for process in clients + servers:
        check(process.expect_success(timeout=300), arguments)
    print(clients[0].output)


harness.main(test)
