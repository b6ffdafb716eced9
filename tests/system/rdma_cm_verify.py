#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What librdmacm promises, by a program of our own over the stock library.

usage: rdma_cm_verify.py CASE [ipv4|ipv4_other|ipv6|ib|ib_ipv6|veth_ipv4|veth_ipv6|veth_ib|veth_link_local]
"""

import contextlib
import signal
import subprocess
import sys

import harness
from harness import Process

PATIENCE = 240  # Seconds: for who waits until all retries are over.
NODES = {
    "ipv4": ("127.0.0.1", False),
    "ipv4_other": ("127.9.8.7", False),
    "ipv6": ("::1", False),
    "ib": ("::ffff:127.0.0.1", True),
    "ib_ipv6": ("::1", True),
    "veth_ipv4": ("10.99.0.1", False),
    "veth_ipv6": ("fd00:99::1", False),
    "veth_ib": ("::ffff:10.99.0.1", True),
}


def command(side, case, node, service, ib):
    words = [harness.binary("urxe_rdma_cm_verify"), side, case, node, service]
    return harness.urxe_run(words + (["ib"] if ib else []))


def link_local(prefix, interface):
    shown = subprocess.run([*prefix, "ip", "-6", "-o", "addr", "show", "dev", interface, "scope", "link"], check=True,
                           capture_output=True, text=True).stdout
    return shown.split()[3].split("/")[0]


@contextlib.contextmanager
def place(kind):
    """Yields the server's address as the server knows it, as the client does, whether AF_IB is used, and what puts a
    client's command where it belongs."""
    if not kind.startswith("veth"):
        harness.isolate()
        node, ib = NODES[kind]
        yield node, node, ib, lambda words: words
        return
    harness.need_namespaces()
    with harness.veth_pair() as (other, _ours, _theirs):
        if kind == "veth_link_local":
            address = link_local([], "urxa")
            yield f"{address}%urxa", f"{address}%urxb", False, other.command
        else:
            node, ib = NODES[kind]
            yield node, node, ib, other.command


def start_server(case, node, service, ib):
    process = Process(command("server", case, node, service, ib), name="server")
    harness.wait_until(lambda: "ready" in process.output or not process.running(), "the server to listen")
    if not process.running():
        process.show()
        harness.fail("the server ended")
    return process


def pair(case, kind):
    with place(kind) as (ours, theirs, ib, there):
        service = str(harness.free_port())
        server = start_server(case, ours, service, ib)
        client = Process(there(command("client", case, theirs, service, ib)), name="client")
        client.expect_success(PATIENCE)
        server.expect_success(PATIENCE)


def alone(case, kind):
    with place(kind) as (ours, _theirs, ib, _there):
        client = Process(command("client", case, ours, str(harness.free_port()), ib), name="client")
        client.expect_success(PATIENCE)


def ports(kind):
    """A port that is listened on is nobody else's, until the listener is killed."""
    with place(kind) as (ours, _theirs, ib, _there):
        service = str(harness.free_port())
        server = start_server("port_held", ours, service, ib)
        Process(command("client", "port_held", ours, service, ib), name="second").expect_success()
        server.kill(signal.SIGKILL)
        Process(command("client", "port_free", ours, service, ib), name="third").expect_success()


def killed(case, kind):
    with place(kind) as (ours, theirs, ib, there):
        service = str(harness.free_port())
        server = start_server(case, ours, service, ib)
        client = Process(there(command("client", case, theirs, service, ib)), name="client")
        harness.wait_until(lambda: "established" in client.output or not client.running(), "the connection")
        server.kill(signal.SIGKILL)
        client.expect_success(PATIENCE)


PAIRS = ("endpoint", "client_disconnects", "server_disconnects", "reject", "nonblocking", "migrate", "private_data",
         "datagrams", "options", "own_queue_pair")
ALONE = ("nobody", "reuse_address", "af_only")


def test():
    case = sys.argv[1]
    kind = sys.argv[2] if len(sys.argv) > 2 else "ipv4"
    if case == "ports":
        ports(kind)
    elif case in ("killed", "killed_idle"):
        killed(case, kind)
    elif case in ALONE:
        alone(case, kind)
    else:
        harness.expect(case in PAIRS, f"no case {case}")
        pair(case, kind)


harness.main(test)
