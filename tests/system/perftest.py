#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One of Debian's perftest programs over urxe. usage: perftest.py PROGRAM [OPTION...]"""

import sys

import ends
import harness
import stock_programs


def test():
    program, *options = sys.argv[1:]
    harness.need_programs(program)
    if "XRC" in options:
        stock_programs.need_xrc_files("xrc_domain_server", "xrc_domain_client")
    path = ends.make()
    port = harness.free_port()
    words = [program, "-d", path.device, "-x", path.gid(0), "-p", str(port), "-F", *options]
    server, client = harness.run_pair(path.server(words), path.client([*words, path.address]), port, timeout=300)
    stock_programs.expect_measurement(client)
    harness.expect("Completion with error" not in server + client, server + client)
    path.expect_carried()
    print(client)


harness.main(test)
