#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs under other allocators, and under tools that watch them: a pair of ibv_rc_pingpong that checks its data.

usage: wrapped.py edges|jemalloc|tcmalloc|valgrind|gdb|strace
"""

import glob
import os
import re
import sys
import tempfile

import harness
from harness import Process

ITERATIONS = "200"


def server_and_client(wrap, env=None):
    """Runs a pair, each wrapped by `wrap(COMMAND, ROLE)`. Returns the output of both, and the mappings of the server."""
    harness.isolate()
    port = harness.free_port()
    pingpong = ["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-c", "-n", ITERATIONS, "-p", str(port)]
    run = lambda role, *more: harness.urxe_run(wrap([*pingpong, *more], role))
    server = Process(run("server"), name="server", env=env)
    server.wait_for_listener(port)
    with open(f"/proc/{server.pid}/maps", encoding="utf-8") as file:
        maps = file.read()
    client = Process(run("client", "127.0.0.1"), name="client", env=env)
    outputs = client.expect_success(), server.expect_success()
    for output in outputs:
        harness.expect(f"{ITERATIONS} iters in " in output and "invalid data" not in output, output)
    return outputs, maps


def allocator(library):
    _, maps = server_and_client(lambda command, role: command, {**harness.environment(), "LD_PRELOAD": library})
    harness.expect(os.path.realpath(library) in maps, f"{library} was not loaded:\n{maps}")
    harness.expect("liburxe-presence.so" in maps, maps)


def installed_allocator(pattern):
    found = sorted(glob.glob(f"/usr/lib/*-linux-gnu/{pattern}"))
    if not found:
        harness.skip(f"{pattern} is not installed")
    allocator(found[0])


def valgrind():
    """It finds no error in the provider. Of the stock program and its libraries it may find any."""
    harness.need_programs("valgrind")
    outputs, _ = server_and_client(lambda command, role: ["valgrind", "--fair-sched=yes", *command])
    for output in outputs:
        harness.expect("ERROR SUMMARY: " in output, output)
        for report in re.split(r"^==\d+== *$", output, flags=re.M):
            harness.expect("liburxe" not in report, f"an error in urxe: {output}")


def gdb():
    """A breakpoint in a function of libibverbs is reached, and the program goes on."""
    harness.need_programs("gdb")
    words = ["-ex", "set breakpoint pending on", "-ex", "tbreak ibv_open_device", "-ex", "run", "-ex", "continue"]
    outputs, _ = server_and_client(lambda command, role: ["gdb", "-nx", "-batch", *words, "--args", *command])
    for output in outputs:
        stopped = re.search(r"^Temporary breakpoint 1\S*, .* in ibv_open_device ", output, re.M)
        harness.expect(stopped and "exited normally" in output, output)


def strace():
    """All system calls of all threads are seen."""
    harness.need_programs("strace")
    with tempfile.TemporaryDirectory() as folder:
        server_and_client(lambda command, role: ["strace", "-f", "-o", f"{folder}/{role}", *command])
        for role in ("server", "client"):
            with open(f"{folder}/{role}", encoding="utf-8", errors="replace") as file:
                seen = file.read()
            harness.expect("exit_group(0)" in seen and "liburxe-rdmav" in seen, seen[-4000:])


CASES = {"edges": lambda: allocator(f"{harness.build_directory()}/lib/liburxe_edge_allocator.so"),
         "jemalloc": lambda: installed_allocator("libjemalloc.so.2"),
         "tcmalloc": lambda: installed_allocator("libtcmalloc_minimal.so.4"),
         "valgrind": valgrind, "gdb": gdb, "strace": strace}


def test():
    harness.need_programs("ibv_rc_pingpong")
    CASES[sys.argv[1]]()


harness.main(test)
