#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""An ordinary TCP program over librdmacm's rsockets, by its librspreload.so: iperf 2, both ways.

usage: rsockets.py PLACE
"""

import glob
import re
import sys

import cm_place
import harness
from cm_place import PATIENCE


def preloaded(words):
    """Before ours: its calls are to reach us."""
    found = glob.glob("/usr/lib/*/rsocket/librspreload.so")
    if not found:
        harness.skip("librspreload.so is not installed")
    return ["sh", "-c", f'LD_PRELOAD={found[0]}:$LD_PRELOAD exec "$@"', "sh", *words]


def iperf(place):
    harness.need_programs("iperf")
    port = harness.free_port()
    server = place.start_server(preloaded(["iperf", "-s", "-B", place.server, "-p", str(port)]), port)
    harness.expect(server.running() and not server.listens_on(port), f"no rsocket:\n{server.output}")
    words = preloaded(["iperf", "-c", place.client, "-p", str(port), "-n", "20M", "-f", "M"])
    for way in ([], ["--reverse"]):
        client = place.start_client([*words, *way])
        output = client.expect_success(PATIENCE)
        moved = re.search(r"sec +([\d.]+) MBytes", output)
        harness.expect(moved and float(moved[1]) >= 20, output)
        print(output)


def test():
    with cm_place.place(sys.argv[1]) as place:
        iperf(place)


harness.main(test)
