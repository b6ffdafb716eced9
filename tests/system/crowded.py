#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program that polls, on a processor that others keep busy, sleeps until packets come: if it yielded instead, each of
the others would run for a whole slice first. Counted are the times that the program's own thread has slept.

usage: crowded.py [OPTION of urxe run]"""

import os
import sys
import time

import harness
from harness import Process

ITERATIONS = 2000
BUSY_LOOPS = 2
LEAST_SLEEPS = ITERATIONS // 4  # mostly one an iteration; a thread that only yields sleeps a few times, as it starts


def sleeps(pid):
    """Of the thread that has begun the process; None: it has ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/status") as status:
            words = dict(line.split(":", 1) for line in status)
        return int(words["voluntary_ctxt_switches"])
    except (OSError, KeyError):
        return None


def last_sleeps(process):
    last = 0
    while process.running():
        last = sleeps(process.pid) or last
        time.sleep(0.001)
    return last


def test():
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    port = harness.free_port()
    pingpong = ["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-n", str(ITERATIONS), "-p", str(port)]
    options = sys.argv[1:]
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:1])
    busy = [Process([sys.executable, "-c", "while True: pass"], name="busy") for _ in range(BUSY_LOOPS)]
    server = Process(harness.urxe_run(pingpong, options))
    server.wait_for_listener(port)
    client = Process(harness.urxe_run([*pingpong, "127.0.0.1"], options))
    os.sched_setaffinity(0, processors[-1:])
    counted = last_sleeps(client)
    client.expect_success()
    server.expect_success()
    for loop in busy:
        loop.kill()
    print(f"the client has slept {counted} times in {ITERATIONS} iterations")
    harness.expect(counted >= LEAST_SLEEPS, f"the client has slept only {counted} times in {ITERATIONS} iterations")


harness.main(test)
