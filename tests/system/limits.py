#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A program that fails because a limit of its process is too low is told by urxe which one to raise, in one line.

usage: limits.py descriptors | threads | memory | thread_local
"""

import sys

import harness
from harness import Process

OWN_WORDS = ("accept()", "Couldn't listen", "socket")  # What the program itself has no descriptors for.


def outcome(options, run=lambda command: command, program=("ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0")):
    """What the program says under the limits, as a server that nobody connects to; None: it listens."""
    port = harness.free_port()
    command = ["prlimit", *options, *harness.urxe_run([*program, "-p", str(port)])]
    server = Process(run(command), " ".join(options))
    harness.wait_until(lambda: server.listens_on(port) or not server.running(), "the server to listen or to fail")
    listens = server.running()
    server.kill()
    return None if listens else server.output


def said_of(output, limit):
    lines = [line for line in output.splitlines() if line.startswith("urxe")]
    harness.expect(len(lines) == 1 or limit != "n", f"one line says one failure, not {lines}")
    return [line for line in lines if f"ulimit -{limit}" in line]


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


def expect_few_told(program):
    """Programs that see no device, or fail to read it, would say something else."""
    for number in range(4, 32):
        server = Process(["prlimit", f"--nofile={number}", *harness.urxe_run(program)], f"{program[0]} with {number}")
        code = server.wait()
        said = [line for line in server.output.splitlines() if line.startswith("urxe")]
        harness.expect(len(said) <= 1 and all("ulimit -n" in line for line in said), f"{number}: {server.output}")
        harness.expect(said or code == 0, f"{number}: {server.output}")


def descriptors():
    """From the least with which the dynamic linker can start a program."""
    failed = [expect_told([f"--nofile={number}"], "n") for number in range(4, 40)]
    harness.expect(failed[0] and not failed[-1], f"it fails with few and not with many: {failed}")
    expect_few_told(["ibv_devinfo", "-v"])
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


def thread_local():
    """The defect: the dynamic linker ended a program of C ("cannot allocate memory for thread-local data") when urxe ran
    out of memory in a thread of it for the first time: what is thrown is kept in memory of the thread."""
    program = Process(harness.urxe_run([harness.binary("urxe_out_of_memory"), "urxe_lo"]), "program")
    code = program.wait()
    harness.expect(code == 0 and "PD ENOMEM, CQ ENOMEM, device ENOMEM" in program.output, f"{code}: {program.output}")
    harness.expect("ulimit -d" in program.output, program.output)


CASES = {case.__name__: case for case in (descriptors, threads, memory, thread_local)}


def test():
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    harness.expect(case in CASES, f"no case {case}")
    harness.need_programs("prlimit", "ibv_rc_pingpong")
    harness.isolate()
    CASES[case]()


harness.main(test)
