# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: groups that librdmacm joins. The roles are the sender's and the receiver's."""

import ipaddress

import cells
import harness
import needs
from cm_ends import IPV4, IPV6, PATIENCE, address_of

GROUPS = {IPV4: "239.7.9.5", IPV6: "ff0e::79:5"}
# Since then soft-RoCE sends in a work queue of the kernel, and no longer before ibv_post_send() returns.
SENDS_LATER_FROM = (6, 4)
NOT_SUPPORTED = "failure joining: Unknown error 524"  # The kernel's own ENOTSUPP; it has no name in user space.


def is_member(side, group):
    """Whether the side's interface takes the group's datagrams: urxe joins the IP group; soft-RoCE asks for the link's
    address that stands for the GID, once a queue pair is attached."""
    gid = ipaddress.IPv6Address(group if ":" in group else f"::ffff:{group}").packed
    link_address = ":".join(f"{byte:02x}" for byte in b"\x33\x33" + gid[-4:])
    shown = side.run_plain(["ip", "maddr", "show", "dev", side.interface])
    return (group if side.name == "urxe" else link_address) in shown


def mckey(sender, receiver, family):
    """Ten datagrams, of which the receiver must get every one."""
    if (needs.kernel_of(sender) or (0, 0)) >= SENDS_LATER_FROM:
        harness.skip("mckey destroys its queue pair before this soft-RoCE has sent what was posted")
    group = GROUPS[family]
    words = lambda side: ["mckey", "-m", group, "-b", address_of(side, family, side)]
    receiving = receiver.start(words(receiver), name=f"receiver ({receiver.name})")
    harness.wait_until(lambda: is_member(receiver, group) or not receiving.running(), "the receiver to join", PATIENCE)
    sending = sender.start([*words(sender), "-s"], name=f"sender ({sender.name})")
    for side, process in ((sender, sending), (receiver, receiving)):
        code = process.wait(PATIENCE)
        if family == IPV6 and code != 0 and NOT_SUPPORTED in process.output:
            harness.skip(f"{side.name}: rdma_join_multicast takes no IPv6 groups (ENOTSUPP, 524)")
        harness.expect(code == 0 and "return status 0" in process.output, process.output)


def one_side_alone(near, _far):
    """urxe joins and sends, even where the peer cannot join."""
    words = ["mckey", "-m", GROUPS[IPV6], "-b", near.ipv6, "-s"]
    output = near.start(words).expect_success(PATIENCE)
    harness.expect("return status 0" in output, output)


for family in (IPV4, IPV6):
    installed = (needs.programs("mckey"),)
    cells.add("cm.mckey", lambda near, far, family=family: mckey(near, far, family), "urxe_sends", family, needs=installed)
    cells.add("cm.mckey", lambda near, far, family=family: mckey(far, near, family), "urxe_receives", family,
              needs=installed)
cells.add("cm.mckey_sends_alone", one_side_alone, IPV6, needs=(needs.programs("mckey"),))
