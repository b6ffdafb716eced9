#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock librdmacm programs whose peer is killed: the survivor learns it, and nothing is left of the killed one.

usage: rdma_cm_killed.py server|client PLACE
"""

import signal
import sys

import cm_place
import harness
from cm_place import PATIENCE


def rping(address, port, *options):
    return ["rping", "-a", address, "-p", port, "-V", *options]


def start_pair(place, port):
    """A client that pings until it is stopped, after its first pings."""
    server = place.start_server(rping(place.server, port, "-s", "-P"), int(port))
    # Its output comes through a buffer that takes a while to fill.
    client = place.start_client(rping(place.client, port, "-c", "-v"))
    harness.wait_until(lambda: "ping data" in client.output or not client.running(), "pings", PATIENCE)
    harness.expect(client.running() and server.running(), "a side ended by itself")
    return server, client


def server(place, port):
    """The client ends, and another server can have the port at once."""
    first, client = start_pair(place, port)
    first.kill(signal.SIGKILL)
    second = place.start_server(rping(place.server, port, "-s", "-P"), int(port))
    harness.expect(second.running(), f"the second server:\n{second.output}")
    place.run_client(rping(place.client, port, "-d", "-c", "-C", "5"))
    client.wait(PATIENCE)
    harness.expect("DISCONNECT" in client.output or "cq completion failed" in client.output, client.output[-2000:])


def client(place, port):
    """The server serves the next one, and is told that the killed one has gone."""
    survivor, killed = start_pair(place, port)
    killed.kill(signal.SIGKILL)
    place.run_client(rping(place.client, port, "-d", "-c", "-C", "5"))
    told = lambda: survivor.output.count("DISCONNECT EVENT") > 1 or "cq completion failed" in survivor.output
    harness.wait_until(lambda: told() or not survivor.running(), "the server to learn it", PATIENCE)
    harness.expect(survivor.running(), survivor.output[-2000:])


def test():
    harness.need_programs("rping")
    with cm_place.place(sys.argv[2]) as place:
        {"server": server, "client": client}[sys.argv[1]](place, str(harness.free_port()))


harness.main(test)
