#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`cmake --install` into an empty prefix, moved afterwards: stock programs run with what is there.

usage: install.py
"""

import os
import subprocess
import sys
import tempfile

import harness


def install(prefix):
    subprocess.run(["cmake", "--install", harness.build_directory(), "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)


def expect_install_without_plugin(directory):
    """What tools/demo has built can be installed: the DPDK engine is not there."""
    folder = os.path.join(harness.build_directory(), "packet/engine/dpdk")
    with open(os.path.join(folder, "cmake_install.cmake"), encoding="utf-8") as file:
        steps = file.read()
    if "liburxe-dpdk.so" not in steps:
        return  # a build without libdpdk
    script = os.path.join(directory, "install.cmake")
    with open(script, "w", encoding="utf-8") as file:
        file.write(steps.replace(f"{harness.build_directory()}/lib/liburxe-dpdk.so", f"{directory}/not_built.so"))
    subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={directory}/without", "-DCMAKE_INSTALL_COMPONENT=dpdk", "-P", script],
                   check=True, stdout=subprocess.DEVNULL)


def expect_provider_names(libraries):
    """libibverbs looks for the provider by its own ABI's number."""
    for abi in (34, 57, 59, 64, 65, 66):
        provider = os.path.join(libraries, f"liburxe-rdmav{abi}.so")
        harness.expect(os.path.isfile(provider), f"{provider} is missing")
        target = os.path.realpath(provider)
        harness.expect(os.path.dirname(target) == os.path.realpath(libraries), f"{provider} leads to {target}")


def expect_refusal(libraries):
    """A libibverbs that the provider does not know is told of by one line. (Here there is none at all.)"""
    load = f"import ctypes; ctypes.CDLL('{libraries}/liburxe-rdmav66.so')"
    told = subprocess.run([sys.executable, "-c", load], check=True, capture_output=True, text=True).stderr
    harness.expect(told.startswith("urxe: ") and told.count("\n") == 1, told)
    harness.expect("liburxe-rdmav66.so" in told and "rdma-core 36 to 65" in told, told)


def expect_pingpong(urxe):
    port = harness.free_port()
    command = [urxe, "run", "--device", "lo", "--", "ibv_rc_pingpong", "-g", "0", "-p", str(port)]
    _, client = harness.run_pair(command, command + ["127.0.0.1"], port)
    harness.expect("1000 iters in " in client, client)
    print(client)


def expect_links(documents):
    """The pages that are installed lead only to pages that are."""
    check = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lint", "check_links")
    done = subprocess.run([sys.executable, "-B", check, documents], stdout=subprocess.PIPE, text=True, check=False)
    harness.expect(done.returncode == 0, done.stdout)


def test():
    harness.need_programs("cmake", "ibv_rc_pingpong")
    harness.isolate()
    with tempfile.TemporaryDirectory() as directory:
        installed, moved = (os.path.join(directory, name) for name in ("installed", "moved"))
        install(installed)
        expect_install_without_plugin(directory)
        os.rename(installed, moved)
        libraries = os.path.join(moved, "lib/urxe")
        expect_provider_names(libraries)
        expect_refusal(libraries)
        expect_links(os.path.join(moved, "share/doc/urxe"))
        expect_pingpong(os.path.join(moved, "bin", "urxe"))


harness.main(test)
