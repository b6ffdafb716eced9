#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock ibv_xsrq_pingpong over urxe: one server, any number of clients.

usage: xsrq_pingpong.py [--clients N] [OPTION OF ibv_xsrq_pingpong...]
"""

import sys

import ends
import harness
import stock_programs
from harness import Process


def test():
    arguments = sys.argv[1:]
    clients = 1
    if arguments[:1] == ["--clients"]:
        clients = int(arguments[1])
        arguments = arguments[2:]
    harness.need_programs("ibv_xsrq_pingpong")
    stock_programs.need_xrc_files("xrc_domain")
    path = ends.make()
    gid = path.gid(arguments[arguments.index("-g") + 1] if "-g" in arguments else 0)
    port = harness.free_port()
    words = ["ibv_xsrq_pingpong", "-d", path.device, "-p", str(port), *arguments, "-g", gid]
    server = Process(path.server([*words, "-c", str(clients)]), name="server")
    server.wait_for_listener(port)
    processes = [server] + [Process(path.client([*words, path.address]), name="client") for _ in range(clients)]
    for process in processes:
        output = process.expect_success(timeout=300)
        harness.expect("success" in output, output)
    path.expect_carried()
    print(output)


harness.main(test)
