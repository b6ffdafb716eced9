# SPDX-License-Identifier: BSD-2-Clause
"""Two ends for a pair of programs, joined by the engine that URXE_TEST_ENGINE names:

  (nothing)  UDP sockets, with shared memory in front, on the loopback interface
  udp        UDP sockets alone, on the loopback interface
  raw        packet sockets, between two hosts
  dpdk       a memif, or, for one program alone, a port that leads nowhere

CMake makes one test of each (urxe_by_engine)."""

import collections
import os

import harness

ENGINE = os.environ.get("URXE_TEST_ENGINE", "")
MTU = 4500  # Bytes: for the largest path MTU.


class Ends:
    """The ends of a path: a server runs at the first.

    device    the name of the device at both
    address   by which a client's program finds the server's with TCP
    """

    def __init__(self, device, address, devices=1, first_gid=0, options=((), ()), there=lambda words: words):
        """devices: 2 if each end has one of its own, with its own counters."""
        self.device, self.address, self._devices = device, address, devices
        self._first_gid, self._options, self._there = first_gid, options, there
        # In a network that others have used, too.
        self._before = self._sums() if harness.shares_network() and ENGINE != "dpdk" else collections.Counter()

    def gid(self, index):
        """The place in the GID table of what is at `index` on a loopback interface. 0: IPv4, 1: IPv6."""
        if int(index) == 1 and ENGINE in ("", "udp"):
            harness.need_ipv6()
        return str(int(index) + self._first_gid)

    def server(self, words, options=()):
        return harness.urxe_run(words, [*self._options[0], *options])

    def client(self, words, options=()):
        return self._there(harness.urxe_run(words, [*self._options[1], *options]))

    def counters(self):
        """The counters by name: the sums of both ends' devices and all processes since the ends were made."""
        return {name: value - self._before[name] for name, value in self._sums().items()}

    def _sums(self):
        sums = collections.Counter()
        for enter in (self.server, self.client)[:self._devices]:
            sums.update(harness.hw_counters(self.device, enter))
        return sums

    def expect_carried(self):
        """Packets went by the engine that was to carry them."""
        if ENGINE == "dpdk":
            return  # Nothing else carries the packets of its device.
        found = self.counters()
        if ENGINE == "raw":
            harness.expect(found["raw_rcvd_pkts"] > 0, f"no frames: {found}")
        if ENGINE == "udp":
            harness.expect(found["rcvd_pkts"] > 0 == found["shm_rcvd_pkts"], f"not by UDP: {found}")


def _dpdk(port, number=1):
    return ["--engine", "dpdk", "--dpdk-args",
            f"--vdev={port} -- address=10.44.0.{number}/24,fd00:44::{number}/64 mtu={MTU}"]


def make(alone=False):
    """To be called first: for two hosts the script starts anew. alone: only the server's end is used."""
    if ENGINE == "raw":
        here, other = harness.two_hosts(MTU)
        return Ends(here.device, here.ipv4, 2, 1, there=other.command)
    harness.isolate()
    if ENGINE != "dpdk":
        return Ends("urxe_lo", "127.0.0.1")
    if not os.path.exists(os.path.join(harness.build_directory(), "lib", "liburxe-dpdk.so")):
        harness.skip("there is no DPDK engine: libdpdk-dev was not installed when urxe was built")
    if alone:
        return Ends("urxe_null0", "127.0.0.1", options=(_dpdk("net_null0,no-rx=1"), ()))
    # The name of the memif's socket is of this network namespace only.
    ports = (_dpdk("net_memif0,role=server,id=0"), _dpdk("net_memif0,role=client,id=0", 2))
    return Ends("urxe_memif0", "127.0.0.1", 2, options=ports)
