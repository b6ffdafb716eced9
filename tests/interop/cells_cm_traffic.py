# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: stock programs that measure, copy or stream over connections of librdmacm."""

import re

import harness
import stock_programs
from cm_ends import IPV4, IPV6, LINK_LOCAL, PATIENCE, add

ATTEMPTS = 8
# A rejection for an invalid service id, or SIDR's status "service id not supported".
NOBODY_LISTENS = r"RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\b"


def perftest(program, *options):
    """It looks its peer up as an IPv4 host; for datagrams, too, it listens in the port space of TCP.

    It connects twice: over the first connection the two tell each other about the second. The client does not wait for
    the server to listen again, and mostly wins against an emulated one: then both start anew. Filling a larger buffer
    takes it longer than the server."""
    def run(ends):
        for _ in range(ATTEMPTS):
            outputs = _perftest_pair(ends, [program, "-R", "-F", *options])
            if outputs is not None:
                break
        harness.expect(outputs is not None, f"{program}'s server listens too late, {ATTEMPTS} times")
        stock_programs.expect_measurement(outputs[1])
        harness.expect("Completion with error" not in "".join(outputs), "".join(outputs))
    return run


def _perftest_pair(ends, words):
    """The outputs of both, the server's first; None where the client was refused."""
    port = str(harness.free_port())
    server = ends.start_server([*words, "-p", port], int(port))
    client = ends.start_client([*words, "-p", port, ends.connect])
    if client.wait(PATIENCE) != 0 and re.search(NOBODY_LISTENS, client.output):
        server.kill()
        return None
    output = client.expect_success(PATIENCE)
    return server.expect_success(PATIENCE), output


def qperf(*tests):
    """Of its tests those of RC: the others address the peer by its LID, which RoCE does not have."""
    def run(ends):
        port = str(harness.free_port())
        server = ends.server.start(["qperf", "-lp", port], name=f"server ({ends.server.name}): qperf")
        ends.server.wait_for_tcp_listener(server, int(port))
        for name in tests:
            output = _qperf_client(ends, ["qperf", "-lp", port, "-t", "1", "-cm", "1", ends.connect, name])
            # Its last number is 0 where nothing went over the connection.
            found = re.search(r"= +([\d.]+) *\S+$", output, re.M)
            harness.expect(found and float(found[1]) > 0, output)
        harness.expect(server.running(), "the server ended")
    return run


def _qperf_client(ends, words):
    """qperf's server tells its port before it listens there, so that a quick client is refused: it tries again."""
    for _ in range(20):
        client = ends.start_client(words)
        code = client.wait(PATIENCE)
        if "Event rejected" not in client.output:
            break
    harness.expect(code == 0, client.output)
    return client.output


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
        harness.expect(re.search(rf"^{step} *:( +\d+\.\d+)+$", client, re.M), client)


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
