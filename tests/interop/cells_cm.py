# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: librdmacm's stock programs that connect, exchange messages and disconnect."""

import harness
from cm_ends import IPV4, IPV6, LINK_LOCAL, UDP, add

ALL = (IPV4, IPV6, LINK_LOCAL)


def rping(*options):
    """Each ping's bytes go by READ to the server and by WRITE back to the client, which verifies them."""
    def run(ends):
        port = str(harness.free_port())
        words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-v", "-C", "10", *options]
        server, client = ends.pair([*words(ends.bind), "-s"], [*words(ends.connect), "-c"], int(port))
        harness.expect(server.count("ping data") == 10 and client.count("ping data") == 10, server + client)
    return run


def rping_size(size):
    """Without -v, which would print the data."""
    def run(ends):
        port = str(harness.free_port())
        words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-C", "4", "-S", str(size)]
        ends.pair([*words(ends.bind), "-s"], [*words(ends.connect), "-c"], int(port))
    return run


def rping_persistent(ends):
    """One server serves client after client. (Of two that come at once it may forget one.)"""
    port = str(harness.free_port())
    words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-C", "3"]
    server = ends.start_server([*words(ends.bind), "-s", "-P"], int(port))
    for _ in range(3):
        ends.run_client([*words(ends.connect), "-c"])
    harness.expect(server.running(), "the server ended")


def ucmatose(*options):
    """Connections at once, with messages both ways over each. The server ends them."""
    def run(ends):
        family = ["-f", "ipv6"] if ends.is_ipv6() else []
        port = str(harness.free_port())
        words = ["ucmatose", "-p", port, *family, *options]
        server, client = ends.pair([*words, "-b", ends.bind], [*words, "-s", ends.connect], int(port))
        for output in (server, client):
            harness.expect("test complete" in output and "return status 0" in output, output)
    return run


def rdma_server(ends):
    """rdma_create_ep() and its synchronous calls."""
    port = str(harness.free_port())
    _, client = ends.pair(["rdma_server", "-p", port, "-s", ends.bind],
                          ["rdma_client", "-p", port, "-s", ends.connect], int(port))
    harness.expect("end 0" in client, client)


def rdma_xserver(ends):
    """The same by RC; its server takes no address."""
    port = str(harness.free_port())
    _, client = ends.pair(["rdma_xserver", "-c", "r", "-p", port],
                          ["rdma_xclient", "-c", "r", "-p", port, "-s", ends.connect], int(port))
    harness.expect("end 0" in client, client)


def udaddy(*options):
    """Services are resolved (SIDR); datagrams both ways. Its port is always the same."""
    def run(ends):
        words = ["udaddy", *(["-f", "ipv6"] if ends.is_ipv6() else []), *options]
        server, client = ends.pair([*words, "-b", ends.bind], [*words, "-s", ends.connect], 7174, UDP)
        for output in (server, client):
            harness.expect("return status 0" in output, output)
    return run


add("rping", rping(), *ALL, programs=["rping"])
for size in (23, 4097, 65535):  # The least, more than a packet, and the most that it takes.
    add(f"rping_{size}_bytes", rping_size(size), IPV4, programs=["rping"])
add("rping_persistent", rping_persistent, IPV4, IPV6, programs=["rping"])
add("rping_own_queue_pair", rping("-q"), IPV4, programs=["rping"])
add("ucmatose", ucmatose("-c", "5", "-C", "5", "-S", "3000"), *ALL, programs=["ucmatose"])
add("ucmatose_migrate", ucmatose("-m", "-c", "3"), IPV4, programs=["ucmatose"])
add("ucmatose_options", ucmatose("-t", "32", "-a", "16"), IPV4, programs=["ucmatose"])
add("rdma_server", rdma_server, *ALL, programs=["rdma_server", "rdma_client"])
add("rdma_xserver", rdma_xserver, IPV4, programs=["rdma_xserver", "rdma_xclient"])
add("udaddy", udaddy("-c", "3", "-S", "1000"), *ALL, programs=["udaddy"])
