#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock programs of arm64 over urxe, in an emulator: with each other, and with programs of this machine on another host.

usage: arm64.py SYSROOT NATIVE CASE      SYSROOT: what tools/cross/make-sysroot has made; NATIVE: this machine's build
"""

import os
import re
import subprocess
import sys

import cm_place
import harness
import sharing
import stock_programs
from harness import Process

EMULATOR = "qemu-aarch64-static"


class Host:
    """Programs of one kind, on an interface. `enter` puts a command into its network namespace."""

    def __init__(self, interface="lo", address="127.0.0.1", enter=lambda words: words):
        self.device, self.address, self.enter = f"urxe_{interface}", address, enter
        self.gid_index = "0" if interface == "lo" else "1"
        self._interface = interface

    def interface_index(self):
        words = self.enter(["ip", "-o", "link", "show", self._interface])
        return int(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split(":")[0])

    def prepare(self, options):
        return ["--device", self._interface, *options]


class Emulated(Host):
    """Programs of arm64. The emulator cannot start a program for another one, so they get what `urxe run` would set."""

    def __init__(self, sysroot, *place, options=()):
        super().__init__(*place)
        self._sysroot = sysroot
        self._start = [EMULATOR, "-L", sysroot]
        words = [*self._start, harness.binary("urxe"), "env", *self.prepare(options)]
        printed = Process(self.enter(words)).expect_success()
        self._environment = re.findall(r"^([A-Z_]+=.*)$", printed, re.M)
        harness.expect(any(word.startswith("LD_PRELOAD=") for word in self._environment), printed)

    def words(self, program, *arguments):
        path = harness.binary(program)
        if not os.path.exists(path):
            path = os.path.join(self._sysroot, "usr/bin", program)
        return self.enter(["env", *self._environment, *self._start, path, *arguments])

    def run(self, program, *arguments):
        return Process(self.words(program, *arguments), program).expect_success()


class Native(Host):
    """Programs of this machine."""

    def __init__(self, build, *place):
        super().__init__(*place)
        self._build = build

    def words(self, program, *arguments):
        path = os.path.join(self._build, "bin", program)
        run = [os.path.join(self._build, "bin/urxe"), "run", *self.prepare(()), "--"]
        return self.enter([*run, path if os.path.exists(path) else program, *arguments])


def devices(host):
    listed = host.run("ibv_devices")
    harness.expect("urxe_lo" in listed, listed)
    shown = host.run("ibv_devinfo", "-v", "-d", "urxe_lo")
    harness.expect("PORT_ACTIVE" in shown and "::ffff:127.0.0.1, RoCE v2" in shown, shown)
    host.run("presence_status_probe", "urxe_lo")


def pingpong(server, client, program, *arguments):
    port = harness.free_port()
    words = lambda host: host.words(program, "-d", host.device, "-g", host.gid_index, "-p", str(port), *arguments)
    for output in harness.run_pair(words(server), [*words(client), server.address], port):
        harness.expect(re.search(r"^1000 iters in ", output, re.M), output)


def pingpongs(host):
    """-c: with the data."""
    for program, *arguments in (["rc", "-c"], ["rc", "-c", "-e"], ["rc", "-N"], ["uc", "-c"], ["ud", "-c"], ["srq", "-c"]):
        pingpong(host, host, f"ibv_{program}_pingpong", *arguments)


def verify(server, client):
    """Every operation, every byte."""
    port = harness.free_port()
    words = lambda host: host.words("urxe_rc_verify", "-d", host.device, "--gid-index", host.gid_index, "-p", str(port),
                                    "--timeout", "18", "--max-size", "300000", "--budget", "1000000", "--batches", "10")
    for output in harness.run_pair(words(server), [*words(client), server.address], port, timeout=600):
        harness.expect(output.rstrip().endswith("verified"), output)


def rping(server, client):
    port = harness.free_port()
    words = ["-d", "-a", server.address, "-p", str(port), "-V", "-v", "-C", "20"]
    started = Process(server.words("rping", "-s", *words), "rping server")
    service, index = cm_place.TCP << 16 | port, server.interface_index()
    harness.wait_until(lambda: not started.running() or sharing.listens(service, index, process=started.pid), "rping to listen")
    stock_programs.finish(Process(client.words("rping", "-c", *words), "rping client"))
    output = stock_programs.finish(started)
    harness.expect(output.count("ping data") == 20, output)


def two_hosts(sysroot, build, case):
    """Each serves the other. The emulator lacks what two programs on one host need to share an address with others."""
    harness.need_namespaces()
    with harness.veth_pair() as (other, here, there):
        emulated = Emulated(sysroot, "urxa", here)
        native = Native(build, "urxb", there, other.command)
        case(emulated, native)
        case(native, emulated)


ALONE = {
    "devices": devices,
    "pingpongs": pingpongs,
    "verify": lambda host: verify(host, host),
}
WITH_THIS_MACHINE = {
    "pingpong": lambda server, client: pingpong(server, client, "ibv_rc_pingpong", "-c"),
    "pingpong_events": lambda server, client: pingpong(server, client, "ibv_rc_pingpong", "-c", "-e"),
    "verify": verify,
    "rping": rping,
}


def test():
    sysroot, build, case = sys.argv[1:]
    harness.need_programs(EMULATOR, "ibv_rc_pingpong", "rping")
    where, _, name = case.rpartition("/")
    if where == "native":
        if not os.path.exists(os.path.join(build, "bin/urxe_rc_verify")):
            harness.skip(f"there is no build for this machine in {build}: tests/arm64 makes it")
        two_hosts(sysroot, build, WITH_THIS_MACHINE[name])
        return
    harness.isolate()
    ALONE[name](Emulated(sysroot, options=["--no-shm"] if where == "udp" else []))


harness.main(test)
