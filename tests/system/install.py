#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`cmake --install` into an empty prefix, moved afterwards: stock programs run with what is there.

usage: install.py
"""

import os
import subprocess
import tempfile

import harness


def install(prefix):
    subprocess.run(["cmake", "--install", harness.build_directory(), "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)


def expect_provider_names(libraries):
    """libibverbs looks for the provider by its own ABI's number."""
    for abi in (34, 57, 59, 64):
        provider = os.path.join(libraries, f"liburxe-rdmav{abi}.so")
        harness.expect(os.path.isfile(provider), f"{provider} is missing")
        target = os.path.realpath(provider)
        harness.expect(os.path.dirname(target) == os.path.realpath(libraries), f"{provider} leads to {target}")


def expect_pingpong(urxe):
    port = harness.free_port()
    command = [urxe, "run", "--", "ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)]
    _, client = harness.run_pair(command, command + ["localhost"], port)
    harness.expect("1000 iters in " in client, client)
    print(client)


def test():
    harness.need_programs("cmake", "ibv_rc_pingpong")
    harness.isolate()
    with tempfile.TemporaryDirectory() as directory:
        installed, moved = (os.path.join(directory, name) for name in ("installed", "moved"))
        install(installed)
        os.rename(installed, moved)
        expect_provider_names(os.path.join(moved, "lib"))
        expect_pingpong(os.path.join(moved, "bin", "urxe"))


harness.main(test)
