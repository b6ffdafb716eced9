#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listeners that have no room, or go, by a program of our own over the stock library.

usage: rdma_cm_listener.py CASE
"""

import random
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


def exits():
    """A process that exits rejects the requests that it has not looked at."""
    harness.isolate()
    server = Process(listener("exits", ADDRESS), name="server")
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


def few_descriptors(node):
    """Who has no descriptors left is told so, and nothing else, until there are enough."""
    harness.need_programs("prlimit")
    harness.isolate()
    process = Process(["prlimit", "--nofile=256", *listener("descriptors", node)], name="few descriptors")
    lines = [line for line in process.expect_success(PATIENCE).splitlines() if not line.startswith("urxe: ")]
    outcomes = [line.split()[2] for line in lines]
    harness.expect(len(outcomes) > 1 and outcomes[-1] == "OK", lines)
    harness.expect(set(outcomes[:-1]) == {"EMFILE"}, lines)


CASES = {
    "overflow": lambda: alone("overflow", ADDRESS),
    "destroyed": lambda: alone("destroyed", ADDRESS),
    "exits": exits,
    "removed": removed,
    "many_ids": lambda: alone("ids", "10000"),
    "few_descriptors": lambda: few_descriptors(ADDRESS),
    "few_descriptors_wildcard": lambda: few_descriptors("0.0.0.0"),
    "many_listeners": lambda: many_listeners(ADDRESS),
    "many_wildcards": lambda: many_listeners("0.0.0.0"),
}

harness.main(lambda: CASES[sys.argv[1]]())
