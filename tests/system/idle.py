#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A process that has a device open and waits takes no processor time: counted in clock ticks over some seconds."""

import os
import time

import harness
from harness import Process

SECONDS = 5
MOST_TICKS = 5  # Of usually 100 a second: one per cent, so that a thread that wakes now and then passes.


def ticks(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def test():
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    port = harness.free_port()
    # A pingpong server has its queue pair and memory ready before it listens; it then waits for its client.
    server = Process(harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-e", "-p", str(port)]))
    server.wait_for_listener(port)
    before = ticks(server.pid)
    time.sleep(SECONDS)
    used = ticks(server.pid) - before
    server.kill()
    print(f"{used} ticks of {os.sysconf('SC_CLK_TCK')} a second in {SECONDS} s")
    harness.expect(used <= MOST_TICKS, f"an idle process used {used} ticks in {SECONDS} s")


harness.main(test)
