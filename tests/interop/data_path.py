# SPDX-License-Identifier: BSD-2-Clause
"""Our own verbs programs and stock ones on the two ends of a link, as the cells of the data path run them."""

import pairs
import stock_programs
from remote import harness

# Local ACK timeout code of our programs: 1.07 s. An emulated peer may take long to answer.
ACK_TIMEOUT = "18"
SMALL = ["--qps", "2", "--messages", "16", "--budget", "100000"]
FAMILIES = ("ipv4", "ipv6")


def gid_index(side, family):
    index = {"ipv4": side.gid_index_v4, "ipv6": side.gid_index_v6, "link_local": side.gid_index_link_local}[family]
    if index is None:
        harness.skip(f"{side.name} has no {family} address")
    return str(index)


def own(program, server, client, family, *options):
    """Runs one of our programs that verify; options are the client's. Returns both outputs."""
    port = str(pairs.free_port())
    words = lambda side: [side.program(program), "-d", side.device, "-g", gid_index(side, family), "-p", port]
    outputs = pairs.run_pair(server, client, words(server), [*words(client), *options, server.ipv4], int(port))
    for output in outputs:
        harness.expect(output.rstrip().endswith("verified"), output)
    return outputs


def connected(family, *options):
    """A cell of urxe_rc_verify with these options of the client. Without fences: see fenced()."""
    return fenced(family, "--no-fence", *options)


def fenced(family, *options):
    """With fences, at which rxe's requester may wait for ever (README.md, "rxe's requester stalls")."""
    return lambda server, client: own("urxe_rc_verify", server, client, family, "--timeout", ACK_TIMEOUT, *options)


def pingpong(program, family, *options, iterations=200, size=4096):
    """A cell of a stock pingpong program, which checks what it receives (-c) but the server's last."""
    def run(server, client):
        port = str(pairs.free_port())
        words = lambda side: [program, "-d", side.device, "-g", gid_index(side, family), "-p", port, "-c",
                              "-n", str(iterations), "-s", str(size), *options]
        for output in pairs.run_pair(server, client, words(server), [*words(client), server.ipv4], int(port)):
            harness.expect(f"{2 * size * iterations} bytes in " in output, output)
            harness.expect("invalid data" not in output, output)
    return run


def xrc_pingpong(family):
    """The stock program of XRC. Its -c is another: how many clients come."""
    def run(server, client):
        port = str(pairs.free_port())
        words = lambda side: ["ibv_xsrq_pingpong", "-d", side.device, "-g", gid_index(side, family), "-p", port, "-n", "200"]
        for output in pairs.run_pair(server, client, [*words(server), "-c", "1"], [*words(client), server.ipv4], int(port)):
            harness.expect("success" in output, output)
    return run


def perftest(program, family, *options):
    """A cell of a program of perftest, which measures and verifies nothing: it must come to its end."""
    def run(server, client):
        port = str(pairs.free_port())
        words = lambda side: [program, "-d", side.device, "-x", gid_index(side, family), "-p", port, "-F", *options]
        _, measured = pairs.run_pair(server, client, words(server), [*words(client), server.ipv4], int(port))
        stock_programs.expect_measurement(measured)
    return run
