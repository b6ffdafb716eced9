#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program that fails because a limit of its process is too low is told by urxe which one to raise, in one line.

usage: limits.py descriptors | threads | memory
"""

import sys

import harness
from harness import Process

OWN_WORDS = ("accept()", "Couldn't listen", "socket")  # What the program itself has no descriptors for.


def outcome(options, run=lambda command: command):
    """What ibv_rc_pingpong says under the limits, as a server that nobody connects to; None: it listens."""
    port = harness.free_port()
    command = ["prlimit", *options, *harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)])]
    server = Process(run(command), " ".join(options))
    harness.wait_until(lambda: server.listens_on(port) or not server.running(), "the server to listen or to fail")
    listens = server.running()
    server.kill()
    return None if listens else server.output


def said_of(output, limit):
    return [line for line in output.splitlines() if line.startswith("urxe: ") and f"ulimit -{limit}" in line]


def expect_told(options, limits, run=lambda command: command):
    """False: it listens."""
    output = outcome(options, run)
    if output is None:
        return False
    if any(word in output for word in OWN_WORDS):
        return True
    print(options, output, flush=True)
    lines = {line for limit in limits for line in said_of(output, limit)}
    harness.expect(len(lines) == 1, f"{options}: one line on what to do, not {lines}: {output}")
    return True


def descriptors():
    """From the least with which the dynamic linker can start a program."""
    failed = [expect_told([f"--nofile={number}"], "n") for number in range(12, 40)]
    harness.expect(failed[0] and not failed[-1], f"it fails with few and not with many: {failed}")
    # Others are there to be found, by a search that takes descriptors.
    port = harness.free_port()
    other = Process(harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)]), "another")
    other.wait_for_listener(port)
    for number in range(12, 24):
        expect_told([f"--nofile={number}"], "n")


def threads():
    if not harness.is_root():
        harness.skip("needs root, to become a user without threads")
    # setpriv first: prlimit's limit would keep it from changing its user.
    failed = [expect_told([f"--nproc={number}"], "u", harness.unprivileged) for number in (1, 2)]
    harness.expect(failed[0], "it starts without a thread")


def memory():
    failed = [expect_told([f"--data={megabytes << 20}"], "d") for megabytes in (1, 2, 4, 8, 64)]
    harness.expect(failed[0] and not failed[-1], f"it fails with little and not with much: {failed}")


CASES = {case.__name__: case for case in (descriptors, threads, memory)}


def test():
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    harness.expect(case in CASES, f"no case {case}")
    harness.need_programs("prlimit", "ibv_rc_pingpong")
    harness.isolate()
    CASES[case]()


harness.main(test)
