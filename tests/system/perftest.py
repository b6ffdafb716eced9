#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One of Debian's perftest programs over urxe on one address. usage: perftest.py PROGRAM [OPTION...]"""

import sys

import harness
import stock_programs


def test():
    program, *options = sys.argv[1:]
    harness.need_programs(program)
    harness.isolate()
    port = harness.free_port()
    command = harness.urxe_run([program, "-d", "urxe_lo", "-x", "0", "-p", str(port), "-F", *options])
    server, client = harness.run_pair(command, command + ["localhost"], port, timeout=300)
    stock_programs.expect_measurement(client)
    harness.expect("Completion with error" not in server + client, server + client)
    print(client)


harness.main(test)
