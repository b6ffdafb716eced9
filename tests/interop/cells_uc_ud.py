# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: the unreliable transports and multicast.

What is on its way at once is little: nothing repeats what a queue on the path drops.
"""

import data_path
import needs
from cells import ETHERNET_MTU, JUMBO_MTU, add, add_both_roles
from data_path import FAMILIES, connected
from remote import harness

FEW = ["--transport", "uc", "--qps", "1", "--messages", "8", "--budget", "70000"]
DATAGRAMS = "100"  # To a group; each waits for nobody, but a receiver's buffers hold them all.


def datagrams(family, largest):
    """Datagrams and answers to the addresses that the GRHs tell; both ends check every byte of both."""
    return lambda server, client: data_path.own("urxe_ud_verify", server, client, family, "--largest", str(largest))


def controlled_qkey(server, client):
    """The client's datagram carries its queue pair's Q_Key."""
    data_path.own("urxe_ud_verify", server, client, "ipv4", "--controlled-qkey")


def grh_form(family):
    """What stands in a receive buffer before the payload is of the same form on both devices."""
    def run(near, far):
        outputs = data_path.own("urxe_ud_verify", near, far, family)
        shown = [bytes.fromhex(next(line[4:] for line in output.splitlines() if line.startswith("grh ")))
                 for output in outputs]
        forms = [_without_what_differs(grh, family) for grh in shown]
        harness.expect(forms[0] == forms[1], f"{near.name} shows {shown[0].hex()},\n{far.name} shows {shown[1].hex()}")
    return run


def _without_what_differs(grh, family):
    """Without addresses and, in an IPv4 header, identification and checksum."""
    if family == "ipv4":
        return grh[:24] + grh[26:30]
    return grh[:8]


def multicast(group, family):
    """One end sends to a group that programs of the other are members of."""
    def run(server, client):
        words = lambda side, *rest: [side.program("urxe_multicast"), side.device, data_path.gid_index(side, family), group, *rest]
        members = [server.start(words(server, "receive", str(queue_pairs), DATAGRAMS, server.interface))
                   for queue_pairs in ((1, 2) if server.is_shared else (2,))]
        for member in members:
            harness.wait_until(lambda each=member: "ready" in each.output or not each.running(), "a member to join")
            harness.expect(member.running(), "a member ended")
        client.start(words(client, "send", DATAGRAMS)).expect_success()
        for member in members:
            member.expect_success()
    return run


for operation in ("send", "send_imm", "write", "write_imm"):
    add_both_roles(f"uc.{operation}", connected("ipv4", "--scenarios", "sizes", "--operations", operation, "--one-way",
                                                "--max-size", "65536", *FEW), "ipv4", "mtu_1024")
for family in FAMILIES:
    for path_mtu in (256, 512, 1024, 2048, 4096):
        mtu = ETHERNET_MTU if path_mtu <= 1024 else JUMBO_MTU
        add_both_roles("uc.all", connected(family, "--mtu", str(path_mtu), "--scenarios", "solicited,sizes,random",
                                           "--batches", "5", "--max-size", str(8 * path_mtu), *FEW),
                       family, f"mtu_{path_mtu}", mtu=mtu)
        if path_mtu >= 1024:
            add_both_roles("ud.all", datagrams(family, path_mtu), family, f"mtu_{path_mtu}", mtu=mtu)
    add("ud.grh", grh_form(family), family)
add_both_roles("ud.all", datagrams("link_local", 1024), "link_local", "mtu_1024")
add("ud.controlled_qkey", lambda near, far: controlled_qkey(far, near), "urxe_client")
add("ud.controlled_qkey", controlled_qkey, "urxe_server",
    needs=[needs.peer_is_not("rxe", "sends the work request's Q_Key even where its highest bit asks for the queue pair's")])
add_both_roles("uc.inline", connected("ipv4", "--scenarios", "sizes", "--inline", "256", *FEW))
add_both_roles("uc.multi_sge", connected("ipv4", "--scenarios", "sizes", "--pieces", "32", "--max-size", "5000", *FEW))

add_both_roles("multicast.datagrams", multicast("239.7.9.3", "ipv4"), "ipv4")
add_both_roles("multicast.datagrams", multicast("ff0e::79:4", "ipv6"), "ipv6")

for transport, size in (("uc", 4096), ("ud", 1024)):
    program = f"ibv_{transport}_pingpong"
    for family in FAMILIES:
        add_both_roles(f"{transport}.pingpong", data_path.pingpong(program, family, size=size), family,
                       needs=[needs.programs(program)])
for program, service, *options in (("ib_send_lat", "UC", "-s", "4096"), ("ib_write_lat", "UC", "-s", "2"),
                                   ("ib_send_lat", "UD", "-s", "1024")):
    add_both_roles(f"{service.lower()}.{program}", data_path.perftest(program, "ipv4", "-c", service, "-n", "200", *options),
                   needs=[needs.programs(program)])
