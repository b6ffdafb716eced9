#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listeners that have no room, or go, by a program of our own over the stock library.

usage: rdma_cm_listener.py CASE
"""

import errno
import random
import socket
import subprocess
import sys

import harness
from harness import Process

PATIENCE = 300  # Seconds: two processors may be shared by many programs that poll.
ADDRESS = "127.0.0.1"


def listener(*words):
    return harness.urxe_run([harness.binary("urxe_rdma_cm_listener"), *words])


def alone(*words):
    harness.isolate()
    Process(listener(*words)).expect_success(PATIENCE)


ROUNDS = 10  # Of exits_busy: the other thread is in a call of librdmacm for most of the time.


def exits():
    """A process that exits rejects the requests that it has not looked at."""
    harness.isolate()
    reject_at_exit("exits")


def exits_busy():
    """It does so, too, while another thread of it is in a call."""
    harness.isolate()
    for _ in range(ROUNDS):
        reject_at_exit("exits_busy")


def reject_at_exit(part):
    server = Process(listener(part, ADDRESS), name="server")
    harness.wait_until(lambda: "port" in server.output or not server.running(), "the server to listen", PATIENCE)
    client = Process(listener("connect", ADDRESS, server.output.split()[1]), name="client").expect_success(PATIENCE)
    server.expect_success(PATIENCE)
    harness.expect("RDMA_CM_EVENT_REJECTED 28" in client, client)


def removed():
    """An id hears of it where the interface goes that it is bound to."""
    harness.need_namespaces()
    with harness.veth_pair() as (_other, ours, _theirs):
        process = Process(listener("listens", ours), name="listener")
        harness.wait_until(lambda: "port" in process.output or not process.running(), "the listener", PATIENCE)
        subprocess.run(["ip", "link", "del", "urxa"], check=True)
        told = process.expect_success(PATIENCE)
        harness.expect("RDMA_CM_EVENT_DEVICE_REMOVAL 0" in told, told)


MANY = 10000  # More than the descriptors that the processes may have.


def start_many(node):
    """A process with that many listening ids; the ports they have."""
    process = Process(["prlimit", "--nofile=1024", *listener("many", node, MANY)], name="many listeners")
    harness.wait_until(lambda: "\n" in process.output or not process.running(), "the listeners", PATIENCE)
    harness.expect(process.running(), process.output)
    ports = process.output.splitlines()[0].split()[1:]
    harness.expect(len(set(ports)) == MANY, f"{len(set(ports))} ports for {MANY} listeners")
    return process, ports


def bound(node, port):
    return Process(listener("bind", node, port), name="bind").expect_success(PATIENCE).split()[1]


def many_listeners(node):
    """Each of ten thousand listeners is reached, and keeps its port, beside as many of another process."""
    harness.need_programs("prlimit")
    harness.isolate()
    process, ports = start_many(node)
    other, _ = start_many(node)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    for port in (ports[0], ports[-1], random.Random(seed).choice(ports)):
        answer = Process(listener("connect", ADDRESS, port), name="client").expect_success(PATIENCE)
        harness.expect("RDMA_CM_EVENT_REJECTED 28" in answer, answer)
        harness.expect(process.output.splitlines()[-1] == f"request {port}", f"port {port}: {process.output[-100:]}")
        for wanted in (ADDRESS, "0.0.0.0"):
            harness.expect(bound(wanted, port) == "EADDRINUSE", f"{wanted}:{port} is bound a second time")
    process.kill()
    harness.expect(bound("0.0.0.0", ports[0]) == "OK", "the port of a killed process is free")
    other.kill()


def no_descriptors():
    """Events come to a program without descriptors. It was told EMFILE."""
    harness.isolate()
    Process(["prlimit", "--nofile=256", *listener("waits", ADDRESS)], name="no descriptors").expect_success(PATIENCE)


def few_descriptors(node):
    """Who has no descriptors left is told so, and nothing else, until there are enough."""
    harness.need_programs("prlimit")
    harness.isolate()
    process = Process(["prlimit", "--nofile=256", *listener("descriptors", node)], name="few descriptors")
    lines = [line for line in process.expect_success(PATIENCE).splitlines() if not line.startswith("urxe: ")]
    outcomes = [line.split()[2] for line in lines]
    harness.expect(len(outcomes) > 1 and outcomes[-1] == "OK", lines)
    harness.expect(set(outcomes[:-1]) == {"EMFILE"}, lines)


NO_ROUTE = {
    # What Linux has rdma_resolve_addr(3) answer at once, by the kind of the route; none: no route.
    "198.18.1.1": (None, "ENETUNREACH"),
    "198.18.2.1": ("unreachable", "EHOSTUNREACH"),
    "198.18.3.1": ("prohibit", "EACCES"),
    "198.18.4.1": ("blackhole", "EINVAL"),
    "2001:db8:1::1": (None, "ENETUNREACH"),
    "2001:db8:2::1": ("unreachable", "EHOSTUNREACH"),
    "2001:db8:3::1": ("prohibit", "EACCES"),
    "2001:db8:4::1": ("blackhole", "EINVAL"),
}


def no_route():
    """Without a route the call fails, no event comes, and the id can be used to resolve another address."""
    harness.need_namespaces()
    for node, (kind, _) in NO_ROUTE.items():
        if kind is not None:
            subprocess.run(["ip", "route", "add", kind, node], check=True)
    for family in ("198.", "2001:"):
        nodes = [node for node in NO_ROUTE if node.startswith(family)]
        good = "127.0.0.1" if family == "198." else "::1"
        process = Process(listener("resolve", *nodes, good), name="resolve")
        expected = [f"{node} {NO_ROUTE[node][1]}" for node in nodes] + [f"{good} RDMA_CM_EVENT_ADDR_RESOLVED 0"]
        told = process.expect_success(PATIENCE).splitlines()
        harness.expect(told == expected, f"{told}, not {expected}")


def taken():
    """An id whose address could not be opened resolves one of another device. It was tied to the first device."""
    harness.need_namespaces()
    with harness.veth_pair() as (_other, ours, _theirs), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for words in (["link", "add", "urxc", "type", "veth", "peer", "name", "urxd"], ["link", "set", "urxd", "up"],
                      ["link", "set", "urxc", "up"], ["addr", "add", "10.97.0.1/24", "dev", "urxc"]):
            subprocess.run(["ip", *words], check=True)
        stranger.bind((ours, 4791))
        told = Process(listener("resolve", ours, "10.97.0.1"), name="resolve").expect_success(PATIENCE).splitlines()
        told = [line for line in told if not line.startswith("urxe: ")]
        expected = [f"{ours} RDMA_CM_EVENT_ADDR_ERROR -{errno.EADDRINUSE}", "10.97.0.1 RDMA_CM_EVENT_ADDR_RESOLVED 0"]
        harness.expect(told == expected, f"{told}, not {expected}")


CASES = {
    "overflow": lambda: alone("overflow", ADDRESS),
    "destroyed": lambda: alone("destroyed", ADDRESS),
    "exits": exits,
    "exits_busy": exits_busy,
    "removed": removed,
    "many_ids": lambda: alone("ids", "10000"),
    "no_route": no_route,
    "no_descriptors": no_descriptors,
    "taken": taken,
    "few_descriptors": lambda: few_descriptors(ADDRESS),
    "few_descriptors_wildcard": lambda: few_descriptors("0.0.0.0"),
    "many_listeners": lambda: many_listeners(ADDRESS),
    "many_wildcards": lambda: many_listeners("0.0.0.0"),
}

harness.main(lambda: CASES[sys.argv[1]]())
