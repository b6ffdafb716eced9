#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Background threads keep the scheduling policy that the program was started with (chrt)."""

import os

import harness
from harness import Process


def policies(pid):
    """Of the program's threads that sleep, by their names. One that has just started does not yet."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat") as stat:
            name, rest = stat.read().split("(", 1)[1].rsplit(") ", 1)
        if rest[0] == "S":
            found[name] = os.sched_getscheduler(int(thread))
    return found


def test():
    harness.need_programs("chrt", "ibv_rc_pingpong")
    harness.isolate()
    for option, policy in (("--other", os.SCHED_OTHER), ("--batch", os.SCHED_BATCH), ("--idle", os.SCHED_IDLE)):
        port = harness.free_port()
        pingpong = ["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)]
        server = Process(harness.urxe_run(["chrt", option, "0", *pingpong]))
        server.wait_for_listener(port)
        harness.wait_until(lambda: "urxe" in policies(server.pid), "the background thread")
        found = policies(server.pid)
        server.kill()
        harness.expect(set(found.values()) == {policy}, f"{option}: {found}")


harness.main(test)
