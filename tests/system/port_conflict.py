#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where something else holds UDP port 4791, a program fails and is told why and what to do."""

import re
import socket

import harness
from harness import Process


def test():
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    holder = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        holder.bind(("0.0.0.0", 4791))
    except OSError:
        harness.skip("UDP port 4791 is in use already")
    port = harness.free_port()
    command = harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)])
    server = Process(command, name="server")
    server.wait_for_listener(port)
    client = Process(command + ["127.0.0.1"], name="client")
    codes = [client.wait(), server.wait()]
    output = client.output + server.output
    print(output)
    harness.expect(all(code > 0 for code in codes), f"the programs ended with {codes}")
    harness.expect(re.search(r"urxe: .*4791", output), "no message of urxe names the port")
    harness.expect("What to do" in output, "no message of urxe says what to do")
    holder.close()
    harness.run_pair(command, command + ["127.0.0.1"], port)


harness.main(test)
