#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock programs that measure, over connections of librdmacm: perftest with -R, and qperf.

usage: rdma_cm_traffic.py perftest|qperf PLACE PROGRAM-OR-TEST [OPTION...]
"""

import re
import sys

import cm_place
import harness
import stock_programs
from cm_place import PATIENCE
from harness import Process


def perftest(place, program, *options):
    """It looks its peer up as an IPv4 host."""
    harness.need_programs(program)
    port = str(harness.free_port())
    words = [program, "-R", "-p", port, "-n", "200", "-F", *options]
    server = place.start_server(words, int(port))
    client = place.run_client([*words, place.client])
    server.expect_success(PATIENCE)
    stock_programs.expect_measurement(client)
    harness.expect("Completion with error" not in client, client)


def qperf(place, *tests):
    """Of its tests those of RC: the others address the peer by its LID, which RoCE does not have.

    qperf's server tells its port before it listens, so that a quick client is refused: it tries again."""
    harness.need_programs("qperf")
    port = str(harness.free_port())
    server = Process(harness.urxe_run(["qperf", "-lp", port]), name="server")
    server.wait_for_listener(int(port))
    for name in tests:
        words = ["qperf", "-lp", port, "-t", "1", "-cm", "1", place.client, name]
        for _ in range(20):
            client = place.start_client(words)
            code = client.wait(PATIENCE)
            if "Event rejected" not in client.output:
                break
        harness.expect(code == 0, client.output)
        # Its last number is 0 where nothing went over the connection.
        found = re.search(r"= +([\d.]+) *\S+$", client.output, re.M)
        harness.expect(found and float(found[1]) > 0, client.output)
        print(client.output)
    harness.expect(server.running(), "the server ended")


def test():
    what, kind, *arguments = sys.argv[1:]
    with cm_place.place(kind) as place:
        {"perftest": perftest, "qperf": qperf}[what](place, *arguments)


harness.main(test)
