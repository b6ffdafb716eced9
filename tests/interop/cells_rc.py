# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: the reliable connected transport, shared receive queues and XRC."""

import data_path
import needs
from cells import ETHERNET_MTU, JUMBO_MTU, add, add_both_roles
from data_path import FAMILIES, SMALL, connected

KIB, MIB = 1 << 10, 1 << 20
OPERATIONS = ("send", "send_imm", "write", "write_imm", "read", "compare_swap", "fetch_add")


def interface_mtu(path_mtu):
    return ETHERNET_MTU if path_mtu <= 1024 else JUMBO_MTU


def one_operation(operation, *options):
    """Only the client requests: one end is the requester, the other the responder."""
    return connected("ipv4", "--scenarios", "sizes", "--operations", operation, "--one-way", *SMALL,
                     "--max-size", str(70 * KIB), *options)


def all_operations(family, path_mtu):
    """Both ends request, all operations at once; also solicited events and a counter that all queue pairs add to."""
    return connected(family, "--mtu", str(path_mtu), "--scenarios", "solicited,sizes,counter,random", *SMALL,
                     "--batches", "5", "--max-size", str(20 * path_mtu))


def one_size(size):
    """One SEND, one RDMA WRITE and one RDMA READ."""
    return connected("ipv4", "--scenarios", "huge", f"--huge={size}", "--one-way", *SMALL)


for operation in OPERATIONS:
    atomic = [needs.atomics()] if operation in ("compare_swap", "fetch_add") else []
    add_both_roles(f"rc.{operation}", one_operation(operation), "ipv4", "mtu_1024", needs=atomic)

for family in FAMILIES:
    for path_mtu in (256, 512, 1024, 2048, 4096):
        add_both_roles("rc.all", all_operations(family, path_mtu), family, f"mtu_{path_mtu}",
                       needs=[needs.atomics()], mtu=interface_mtu(path_mtu))
add_both_roles("rc.all", all_operations("link_local", 1024), "link_local", "mtu_1024", needs=[needs.atomics()])

add_both_roles("rc.inline", connected("ipv4", "--scenarios", "sizes,random", "--inline", "256", "--batches", "5", *SMALL))
add_both_roles("rc.multi_sge", connected("ipv4", "--scenarios", "sizes", "--pieces", "32", "--max-size", "5000", *SMALL))
add_both_roles("rc.events", connected("ipv4", "--scenarios", "sizes", "--events", "--max-size", "5000", *SMALL))
add_both_roles("rc.many_queue_pairs", connected("ipv4", "--scenarios", "random,counter", "--batches", "3", "--qps", "16",
                                                "--messages", "16", "--max-size", "8000", "--budget", "30000"),
               needs=[needs.atomics()])
FENCES = data_path.fenced("ipv4", "--scenarios", "sizes,random", "--one-way", "--batches", "5", "--max-size", "20000", *SMALL)
add("rc.fences", lambda near, far: FENCES(far, near), "urxe_client", needs=[needs.atomics()])
add("rc.fences", FENCES, "urxe_server",
    needs=[needs.atomics(), needs.peer_is_not("rxe", "may wait for ever at a fence when it is the requester")])
for size in (1 * MIB, 8 * MIB, 16 * MIB):
    add_both_roles("rc.large", one_size(size), f"{size // MIB}_mib", needs=[needs.message_size(size)])

add_both_roles("rc.receiver_not_ready", connected("ipv4", "--scenarios", "rnr", "--messages", "16"))
add_both_roles("srq.all", connected("ipv4", "--scenarios", "srq", "--messages", "64"))
add_both_roles("srq.runs_dry", connected("ipv4", "--scenarios", "srq", "--messages", "8"))

for family in FAMILIES:
    add_both_roles("rc.pingpong", data_path.pingpong("ibv_rc_pingpong", family), family,
                   needs=[needs.programs("ibv_rc_pingpong")])
add_both_roles("rc.pingpong_events", data_path.pingpong("ibv_rc_pingpong", "ipv4", "-e"),
               needs=[needs.programs("ibv_rc_pingpong")])
add_both_roles("srq.pingpong", data_path.pingpong("ibv_srq_pingpong", "ipv4", iterations=200),
               needs=[needs.programs("ibv_srq_pingpong")])
add_both_roles("xrc.pingpong", data_path.xrc_pingpong("ipv4"),
               needs=[needs.capability("XRC"), needs.programs("ibv_xsrq_pingpong")])

for program, *options in (("ib_send_bw", "-n", "200", "-s", "65536"), ("ib_write_bw", "-n", "200", "-s", "65536", "-q", "4"),
                          ("ib_read_bw", "-n", "200", "-s", "65536"), ("ib_write_lat", "-n", "200", "-s", "2"),
                          ("ib_send_bw", "-n", "200", "-s", "4096", "-b"), ("ib_atomic_lat", "-n", "200")):
    both_ways = ["both_ways"] if "-b" in options else []
    add_both_roles(f"rc.{program}", data_path.perftest(program, "ipv4", *options), *both_ways,
                   needs=[needs.programs(program), *([needs.atomics()] if "atomic" in program else [])])
