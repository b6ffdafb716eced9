#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock ibv_xsrq_pingpong over urxe on one address: one server, any number of clients.

usage: xsrq_pingpong.py [--clients N] [OPTION OF ibv_xsrq_pingpong...]
"""

import sys

import harness
from harness import Process


def test():
    arguments = sys.argv[1:]
    clients = 1
    if arguments[:1] == ["--clients"]:
        clients = int(arguments[1])
        arguments = arguments[2:]
    harness.need_programs("ibv_xsrq_pingpong")
    harness.isolate()
    if "-g" not in arguments:
        arguments += ["-g", "0"]
    port = harness.free_port()
    command = harness.urxe_run(["ibv_xsrq_pingpong", "-d", "urxe_lo", "-p", str(port), *arguments])
    server = Process(command + ["-c", str(clients)], name="server")
    server.wait_for_listener(port)
    processes = [server] + [Process(command + ["localhost"], name="client") for _ in range(clients)]
    for process in processes:
        output = process.expect_success(timeout=300)
        harness.expect("success" in output, output)
    print(output)


harness.main(test)
