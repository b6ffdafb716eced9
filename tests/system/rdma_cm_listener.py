#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Listeners that have no room, or go, by a program of our own over the stock library.

usage: rdma_cm_listener.py CASE
"""

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


CASES = {
    "overflow": lambda: alone("overflow", ADDRESS),
    "destroyed": lambda: alone("destroyed", ADDRESS),
    "exits": exits,
    "removed": removed,
    "many_ids": lambda: alone("ids", "10000"),
}

harness.main(lambda: CASES[sys.argv[1]]())
