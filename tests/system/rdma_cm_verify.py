#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What librdmacm promises, by a program of our own over the stock library.

usage: rdma_cm_verify.py CASE [ipv4|ipv4_other|ipv6|ib|ib_ipv6|veth_ipv4|veth_ipv6|veth_ib|veth_link_local]
"""

import contextlib
import signal
import socket
import subprocess
import sys
import time

import harness
from cm_place import place
from harness import Process

PATIENCE = 240  # Seconds: for who waits until all retries are over.
STOPPED = 10  # Seconds, of the 25 after which silence means the end.


def command(side, case, node, service, ib):
    words = [harness.binary("urxe_rdma_cm_verify"), side, case, node, service]
    return harness.urxe_run(words + (["ib"] if ib else []))


def start_server(case, node, service, ib):
    process = Process(command("server", case, node, service, ib), name="server")
    harness.wait_until(lambda: "ready" in process.output or not process.running(), "the server to listen")
    if not process.running():
        process.show()
        harness.fail("the server ended")
    return process


def pair(case, kind):
    with place(kind) as where:
        ours, theirs, ib, there = where.server, where.client, where.ib, where.there
        service = str(harness.free_port())
        server = start_server(case, ours, service, ib)
        client = Process(there(command("client", case, theirs, service, ib)), name="client")
        client.expect_success(PATIENCE)
        server.expect_success(PATIENCE)


def alone(case, kind):
    with place(kind) as where:
        ours, ib = where.server, where.ib
        if case == "bindv6only":
            subprocess.run(["sysctl", "-q", "-w", "net.ipv6.bindv6only=1"], check=True)
        client = Process(command("client", case, ours, str(harness.free_port()), ib), name="client")
        client.expect_success(PATIENCE)


def ports(kind):
    """A port that is listened on is nobody else's, until the listener is killed."""
    with place(kind) as where:
        ours, ib = where.server, where.ib
        service = str(harness.free_port())
        server = start_server("port_held", ours, service, ib)
        Process(command("client", "port_held", ours, service, ib), name="second").expect_success()
        server.kill(signal.SIGKILL)
        Process(command("client", "port_free", ours, service, ib), name="third").expect_success()


def killed(case, kind):
    with place(kind) as where:
        ours, theirs, ib, there = where.server, where.client, where.ib, where.there
        service = str(harness.free_port())
        server = start_server(case, ours, service, ib)
        client = Process(there(command("client", case, theirs, service, ib)), name="client")
        harness.wait_until(lambda: "established" in client.output or not client.running(), "the connection")
        server.kill(signal.SIGKILL)
        with contextlib.ExitStack() as strangers:
            if case == "killed_silent":
                # Somebody else has its port now, and answers nothing.
                stranger = strangers.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                stranger.bind((ours, 4791))
            client.expect_success(PATIENCE)


def stopped(kind):
    """A server that is stopped for a while keeps its idle connection."""
    with place(kind) as where:
        service = str(harness.free_port())
        server = start_server("stopped", where.server, service, where.ib)
        client = Process(where.there(command("client", "stopped", where.client, service, where.ib)), name="client")
        harness.wait_until(lambda: "established" in client.output or not client.running(), "the connection")
        server.kill(signal.SIGSTOP)
        time.sleep(STOPPED)
        server.kill(signal.SIGCONT)
        client.kill(signal.SIGUSR1)
        client.expect_success(PATIENCE)
        server.expect_success(PATIENCE)


PAIRS = ("endpoint", "client_disconnects", "server_disconnects", "reject", "nonblocking", "migrate", "private_data",
         "datagrams", "options", "settled", "replies", "own_queue_pair", "notify", "path", "data_first", "reply_rejected",
         "fork_idle", "fork_meddling", "fork_beside_channels", "fork_both")
ALONE = ("nobody", "bind_loopback", "reuse_address", "af_only", "bindv6only")


def test():
    case = sys.argv[1]
    kind = sys.argv[2] if len(sys.argv) > 2 else "ipv4"
    if case == "ports":
        ports(kind)
    elif case in ("killed", "killed_idle", "killed_alone", "killed_silent"):
        killed(case, kind)
    elif case == "stopped":
        stopped(kind)
    elif case in ALONE:
        alone(case, kind)
    else:
        harness.expect(case in PAIRS, f"no case {case}")
        pair(case, kind)


harness.main(test)
