# SPDX-License-Identifier: BSD-2-Clause
"""The recorded cases of stock programs: librdmacm's, and perftest. Each is run(server, client), on two sides."""

import ipaddress
import re
from typing import Callable, NamedTuple

import cm_ends
import data_path
from remote import harness

GROUP = "239.7.7.7"
_PERFTEST = ("-s", "64", "-n", "20")


class ProgramCase(NamedTuple):
    name: str
    what: str
    run: Callable
    faults: str = ""
    interface_mtu: int = 1500


def _on(family, run):
    return lambda server, client: run(cm_ends.Ends(server, client, family))


def _reject(ends):
    """At another port somebody listens, as urxe has no connection manager but its programs'."""
    bystander = str(harness.free_port())
    ends.start_server(["rping", "-s", "-a", ends.bind, "-p", bystander, "-C", "1"], int(bystander))
    port = str(harness.free_port())
    client = ends.start_client(["rping", "-c", "-a", ends.connect, "-p", port, "-C", "1"])
    client.wait(cm_ends.PATIENCE)
    harness.expect("REJECTED" in client.output, client.output)


def _rping(ends):
    port = str(harness.free_port())
    words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-v", "-C", "3"]
    server, client = ends.pair([*words(ends.bind), "-s"], [*words(ends.connect), "-c"], int(port))
    harness.expect(server.count("ping data") == 3 and client.count("ping data") == 3, server + client)


def _ucmatose(ends):
    port = str(harness.free_port())
    words = ["ucmatose", "-p", port, "-c", "2"]
    for output in ends.pair([*words, "-b", ends.bind], [*words, "-s", ends.connect], int(port)):
        harness.expect("return status 0" in output, output)


def _udaddy(ends):
    for output in ends.pair(["udaddy", "-b", ends.bind], ["udaddy", "-s", ends.connect], 7174, cm_ends.UDP):
        harness.expect("return status 0" in output, output)


def _is_member(side):
    """Whether the side's interface takes the group's datagrams: urxe joins the IP group; soft-RoCE asks for the link's
    address that stands for the GID."""
    gid = ipaddress.IPv6Address(f"::ffff:{GROUP}").packed
    link_address = "33:33:" + ":".join(f"{byte:02x}" for byte in gid[-4:])
    shown = side.run_plain(["ip", "maddr", "show", "dev", side.interface])
    return bool(re.search(rf"\b({re.escape(GROUP)}|{link_address})\b", shown))


def _mckey(ends):
    """The client sends."""
    words = ["mckey", "-m", GROUP, "-C", "4", "-S", "100"]
    receiver = ends.server.start([*words, "-b", ends.bind], name=f"receiver ({ends.server.name})")
    harness.wait_until(lambda: _is_member(ends.server) or not receiver.running(), "the receiver to join",
                       cm_ends.PATIENCE)
    sent = ends.run_client([*words, "-b", ends.source, "-s"])
    for output in (sent, receiver.expect_success(cm_ends.PATIENCE)):
        harness.expect("return status 0" in output, output)


def _latencies(server, client):
    for program in ("ib_send_lat", "ib_write_lat", "ib_read_lat"):
        data_path.perftest(program, "ipv4", *_PERFTEST)(server, client)


CASES = (
    ProgramCase("cm_reject", "CM REQ to a port nobody listens on: REJ", _on(cm_ends.IPV4, _reject)),
    ProgramCase("cm_rping", "REQ REP RTU, rping's SEND/WRITE/READ, 3 rounds, DREQ", _on(cm_ends.IPV4, _rping)),
    ProgramCase("cm_rping_v6", "the same over IPv6", _on(cm_ends.IPV6, _rping)),
    ProgramCase("cm_ucmatose", "ucmatose: 2 connections, SENDs, disconnect", _on(cm_ends.IPV4, _ucmatose)),
    ProgramCase("cm_udaddy", "SIDR_REQ/SIDR_REP, then UD SENDs both ways", _on(cm_ends.IPV4, _udaddy)),
    ProgramCase("mcast_mckey", f"mckey: UD to the multicast group {GROUP}, QPN 0xffffff, 4 messages of 100 bytes",
                _on(cm_ends.IPV4, _mckey)),
    ProgramCase("perftest_rc", "ib_send_lat, ib_write_lat, ib_read_lat, 64 bytes, 20 rounds each", _latencies),
)
