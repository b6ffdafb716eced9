# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: stock programs that measure, copy or stream over connections of librdmacm."""

import re

import harness
import stock_programs
from cm_ends import IPV4, IPV6, LINK_LOCAL, PATIENCE, add


class Turns:
    """Lets a client wait until its server listens for the Nth time (turns.c). A context manager."""

    def __init__(self, ends, turn):
        self._ends, self._turn = ends, turn

    def __enter__(self):
        self._servers, self._clients = (self._make_folder(side) for side in (self._ends.server, self._ends.client))
        return self

    def __exit__(self, *_):
        for side, folder in ((self._ends.server, self._servers), (self._ends.client, self._clients)):
            side.run_plain(["rm", "-rf", folder])

    @staticmethod
    def _make_folder(side):
        return side.run_plain(["mktemp", "-d"]).strip()

    def server_environment(self):
        return {"LD_PRELOAD": self._ends.server.program("urxe_turns.so"), "URXE_TURNS": self._servers}

    def run_client(self, words):
        """Runs it, its turn once the server listens; returns its output."""
        marks = [f"{folder}/{self._turn}" for folder in (self._servers, self._clients)]
        client = self._ends.start_client(words, env={
            "LD_PRELOAD": self._ends.client.program("urxe_turns.so"), "URXE_TURNS": self._clients,
            "URXE_TURN": str(self._turn)})
        listens = lambda: self._ends.server.read_files(marks[0]) or not client.running()
        harness.wait_until(listens, f"{words[0]}'s server to listen", PATIENCE)
        self._ends.client.run_plain(["touch", marks[1]])
        output = client.expect_success(PATIENCE)
        self._ends.server.run_plain(["rm", "-f", marks[0]])
        self._ends.client.run_plain(["rm", "-f", marks[1]])
        return output


def perftest(program, *options):
    """It looks its peer up as an IPv4 host; for datagrams, too, it listens in the port space of TCP.

    It connects twice: over the first connection the two tell each other about the second. The client does not wait for
    the server to listen again, and mostly wins against an emulated one, which rejects it: here they take turns."""
    def run(ends):
        port = str(harness.free_port())
        words = [program, "-R", "-F", *options, "-p", port]
        with Turns(ends, 2) as turns:
            server = ends.start_server(words, int(port), env=turns.server_environment())
            output = turns.run_client([*words, ends.connect])
            outputs = output + server.expect_success(PATIENCE)
        stock_programs.expect_measurement(output)
        harness.expect("Completion with error" not in outputs, outputs)
    return run


def qperf(*tests):
    """Of its tests those of RC: the others address the peer by its LID, which RoCE does not have. Its server tells its port
    before it listens there, so that a quick client would be refused."""
    def run(ends):
        port = str(harness.free_port())
        with Turns(ends, 1) as turns:
            server = ends.server.start(["qperf", "-lp", port], name=f"server ({ends.server.name}): qperf",
                                       env=turns.server_environment())
            ends.server.wait_for_tcp_listener(server, int(port))
            for name in tests:
                output = turns.run_client(["qperf", "-lp", port, "-t", "1", "-cm", "1", ends.connect, name])
                # Its last number is 0 where nothing went over the connection.
                found = re.search(r"= +([\d.]+) *\S+$", output, re.M)
                harness.expect(found and float(found[1]) > 0, output)
            harness.expect(server.running(), "the server ended")
    return run


def stream(program, *options):
    """Data through rsockets, which the receiver verifies."""
    def run(ends):
        port = str(harness.free_port())
        family = ["-f", "ipv6"] if ends.is_ipv6() else []
        words = [program, "-p", port, "-T", "v", "-I", "5", "-C", "4", "-S", "16384", *family, *options]
        _, client = ends.pair([*words, "-b", ends.bind], [*words, "-s", ends.connect], int(port))
        harness.expect("Gb/sec" in client, client)
    return run


def rcopy(ends):
    """A file goes from one directory to another."""
    port = str(harness.free_port())
    name = f"/tmp/urxe-rcopy-{port}"
    sent, received = f"{name}.sent", f"{name}.received"
    checksum = lambda side, path: side.run(["sha256sum", path], PATIENCE).split()[0]
    try:
        ends.client.run(["dd", "if=/dev/urandom", f"of={sent}", "bs=64k", "count=16"], PATIENCE)
        ends.start_server(["rcopy", "-p", port], int(port))
        ends.run_client(["rcopy", sent, f"{ends.connect}:{received}", "-p", port])
        harness.expect(checksum(ends.client, sent) == checksum(ends.server, received), "the copy is another file")
    finally:
        for side in (ends.client, ends.server):
            side.run(["rm", "-f", sent, received], PATIENCE)


def cmtime(ends):
    """Each step of some connections has a line in the table, with its times."""
    port = str(harness.free_port())
    words = ["cmtime", "-p", port, "-c", "20"]
    ends.start_server([*words, "-b", ends.bind], int(port))
    client = ends.run_client([*words, "-s", ends.connect])
    for step in ("create id", "resolve addr", "resolve route", "create qp", "connect", "disconnect", "destroy"):
        # Of rdma-core 44 "connect    :   1.5  20.1", of 56 "cm connect    1242   124288".
        harness.expect(re.search(rf"^(cm )?{step}( id)? *:?( +\d+(\.\d+)?)+$", client, re.M), client)


for kind in ("send_bw", "write_bw", "read_lat"):
    add(f"perftest_{kind}", perftest(f"ib_{kind}", "-s", "262144", "-n", "10"), IPV4, programs=[f"ib_{kind}"])
add("perftest_send_lat_ud", perftest("ib_send_lat", "-c", "UD", "-s", "1000", "-n", "50"), IPV4,
    programs=["ib_send_lat"])
add("perftest_write_bw_4_qps", perftest("ib_write_bw", "-q", "4", "-s", "65536", "-n", "10"), IPV4,
    programs=["ib_write_bw"])
add("qperf", qperf("rc_lat", "rc_rdma_read_bw"), IPV4, programs=["qperf"])
add("rstream", stream("rstream"), IPV4, IPV6, LINK_LOCAL, programs=["rstream"])
add("rstream_nonblocking", stream("rstream", "-T", "n"), IPV4, programs=["rstream"])
add("riostream", stream("riostream"), IPV4, programs=["riostream"])
add("rcopy", rcopy, IPV4, programs=["rcopy"])
add("cmtime", cmtime, IPV4, programs=["cmtime"])
