#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock librdmacm programs over urxe on the loopback interface.

usage: rdma_cm.py CASE [ipv4|ipv6]
"""

import hashlib
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

import harness
from harness import Process

ADDRESSES = {"ipv4": "127.0.0.1", "ipv6": "::1"}
PATIENCE = 300  # Seconds: two processors may be shared by many programs that poll.
TCP, UDP = 0x0106, 0x0111  # Port spaces.


def listens(space, port):
    """Whether a process has QP1's requests for the service come to it."""
    name = f"/service/1/{space << 16 | port:016x}/"
    with open("/proc/net/unix") as lines:
        return any(name in line for line in lines)


def start_server(words, port, space=TCP):
    process = Process(harness.urxe_run(words), name="server")
    harness.wait_until(lambda: listens(space, port) or not process.running(), "the server to listen", PATIENCE)
    return process


def run_client(words):
    return Process(harness.urxe_run(words), name="client").expect_success(PATIENCE)


def pair(server_words, client_words, port, space=TCP):
    harness.need_programs(server_words[0], client_words[0])
    server = start_server(server_words, port, space)
    client = run_client(client_words)
    return server.expect_success(PATIENCE), client


def rping(address, *options):
    port = str(harness.free_port())
    common = ["rping", "-a", address, "-p", port, "-V", "-v", "-C", "20", *options]
    server, _ = pair([*common, "-s"], [*common, "-c"], int(port))
    harness.expect(server.count("ping data") == 20, server)


def rping_sizes(address):
    for size in ("23", "4097", "65535"):
        port = str(harness.free_port())
        common = ["rping", "-a", address, "-p", port, "-V", "-C", "10", "-S", size]
        pair([*common, "-s"], [*common, "-c"], int(port))


def rping_persistent(address):
    """One server serves client after client. (Of two that come at once it may forget one.)"""
    harness.need_programs("rping")
    port = str(harness.free_port())
    common = ["rping", "-a", address, "-p", port, "-V", "-C", "5"]
    server = start_server([*common, "-s", "-P"], int(port))
    for _ in range(5):
        run_client([*common, "-c"])
    harness.expect(server.running(), "the server ended")


def ucmatose(address, *options):
    family = ["-f", "ipv6"] if ":" in address else []
    port = str(harness.free_port())
    words = ["ucmatose", "-p", port, *family, *options]
    _, client = pair([*words, "-b", address], [*words, "-s", address], int(port))
    harness.expect("test complete" in client and "return status 0" in client, client)


def rdma_server(address, kind=""):
    """The pair of rdma_server and rdma_client, or (x) the one that does XRC too."""
    port = str(harness.free_port())
    options = ["-p", port] + (["-c", kind[1]] if len(kind) > 1 else [])
    server = [f"rdma_{kind[:1]}server", *options] + ([] if kind else ["-s", address])
    space = 0x013F if kind == "xx" else TCP
    _, client = pair(server, [f"rdma_{kind[:1]}client", *options, "-s", address], int(port), space)
    harness.expect("end 0" in client, client)


def udaddy(address, *options):
    family = ["-f", "ipv6"] if ":" in address else []
    words = ["udaddy", *family, *options]
    _, client = pair([*words, "-b", address], [*words, "-s", address], 7174, UDP)
    harness.expect("return status 0" in client, client)


def is_member(group):
    if ":" in group:
        packed = socket.inet_pton(socket.AF_INET6, group).hex()
        path = "/proc/net/igmp6"
    else:
        packed = f"{struct.unpack('=I', socket.inet_aton(group))[0]:08X}"
        path = "/proc/net/igmp"
    with open(path) as table:
        return packed in table.read()


def mckey(address):
    harness.need_programs("mckey")
    group = "239.7.9.5"
    if ":" in address:
        harness.need_namespaces()
        subprocess.run(["ip", "-6", "route", "add", "local", "ff00::/8", "dev", "lo"], check=True)
        group = "ff0e::79:5"
    words = harness.urxe_run(["mckey", "-m", group, "-b", address])
    receiver = Process(words, name="receiver")
    harness.wait_until(lambda: is_member(group) or not receiver.running(), "the receiver to join", PATIENCE)
    sender = Process([*words, "-s"], name="sender").expect_success(PATIENCE)
    received = receiver.expect_success(PATIENCE)
    harness.expect("return status 0" in received and "return status 0" in sender, received + sender)


def stream(program, address, *options):
    """Data through rsockets, which the receiver verifies."""
    port = str(harness.free_port())
    words = [program, "-p", port, "-T", "v", "-I", "20", "-C", "5", *options]
    _, client = pair([*words, "-b", address], [*words, "-s", address], int(port))
    harness.expect(re.search(r"Gb/sec", client), client)


def rcopy(address):
    """A file goes from one directory to another."""
    harness.need_programs("rcopy")
    port = str(harness.free_port())
    with tempfile.TemporaryDirectory() as directory:
        source, target = (os.path.join(directory, name) for name in ("source", "target"))
        with open(source, "wb") as file:
            file.write(hashlib.sha512(b"rcopy").digest() * 65536)
        start_server(["rcopy", "-p", port], int(port))
        run_client(["rcopy", source, f"{address}:{target}", "-p", port])
        with open(source, "rb") as sent, open(target, "rb") as received:
            harness.expect(sent.read() == received.read(), "the copy is another file")


def perftest(program, address, *options):
    port = str(harness.free_port())
    words = [program, "-R", "-p", port, "-n", "200", *options]
    _, client = pair(words, [*words, address], int(port))
    harness.expect(re.search(r"^ +\d+ +[28]00 ", client, re.M), client)


def cmtime(address):
    harness.need_programs("cmtime")
    port = str(harness.free_port())
    words = ["cmtime", "-p", port, "-c", "100"]
    start_server([*words, "-b", address], int(port))
    client = run_client([*words, "-s", address])
    harness.expect("connect" in client, client)
    print(client)


def storm(address, connections, at_once, *server_options):
    """Our own program: so many connections, so many of them at once. Returns the server and what the client says."""
    port = str(harness.free_port())
    program = harness.binary("urxe_rdma_cm_storm")
    server = start_server([program, "server", port, str(connections), *server_options], int(port))
    words = [program, "client", address, port, str(connections), str(at_once)]
    return server, run_client(words)


def many_at_once(address):
    server, client = storm(address, 2000, 1000)
    harness.expect("established 2000 rejected 0 unreachable 0" in client, client)
    harness.expect("established 2000" in server.expect_success(PATIENCE), server.output)


def listener(*words):
    return harness.urxe_run([harness.binary("urxe_rdma_cm_listener"), *words])


def exits(address):
    """A process that exits rejects the requests that it has not looked at."""
    server = Process(listener("exits", address), name="server")
    harness.wait_until(lambda: "port" in server.output or not server.running(), "the server to listen", PATIENCE)
    client = Process(listener("connect", address, server.output.split()[1]), name="client").expect_success(PATIENCE)
    server.expect_success(PATIENCE)
    harness.expect("RDMA_CM_EVENT_REJECTED 28" in client, client)


def removed(_address):
    """An id hears of it where the interface goes that it is bound to."""
    harness.need_namespaces()
    with harness.veth_pair() as (_other, ours, _theirs):
        process = Process(listener("listens", ours), name="listener")
        harness.wait_until(lambda: "port" in process.output or not process.running(), "the listener", PATIENCE)
        subprocess.run(["ip", "link", "del", "urxa"], check=True)
        told = process.expect_success(PATIENCE)
        harness.expect("RDMA_CM_EVENT_DEVICE_REMOVAL 0" in told, told)


def alone(*words):
    Process(listener(*words)).expect_success(PATIENCE)


CASES = {
    "rping": rping,
    "rping_sizes": rping_sizes,
    "rping_persistent": rping_persistent,
    "rping_own_queue_pair": lambda address: rping(address, "-q"),
    "ucmatose": ucmatose,
    "ucmatose_many": lambda address: ucmatose(address, "-c", "100", "-C", "2"),
    "ucmatose_migrate": lambda address: ucmatose(address, "-m", "-c", "5"),
    "ucmatose_options": lambda address: ucmatose(address, "-t", "32", "-a", "14"),
    "rdma_server": rdma_server,
    "rdma_xserver": lambda address: rdma_server(address, "x"),
    "rdma_xserver_xrc": lambda address: rdma_server(address, "xx"),
    "udaddy": udaddy,
    "udaddy_many": lambda address: udaddy(address, "-c", "20"),
    "mckey": mckey,
    "rstream": lambda address: stream("rstream", address, "-S", "4096"),
    "rstream_nonblocking": lambda address: stream("rstream", address, "-S", "4096", "-T", "n"),
    "riostream": lambda address: stream("riostream", address, "-S", "4096"),
    "rcopy": rcopy,
    "cmtime": cmtime,
    "many_at_once": many_at_once,
    "overflow": lambda address: alone("overflow", address),
    "destroyed_listener": lambda address: alone("destroyed", address),
    "exits": exits,
    "removed": removed,
    "many_ids": lambda address: alone("ids", "10000"),
    "perftest_write_bw": lambda address: perftest("ib_write_bw", address),
    "perftest_send_lat": lambda address: perftest("ib_send_lat", address),
    "perftest_send_bw_ud": lambda address: perftest("ib_send_bw", address, "-c", "UD"),
    "perftest_read_bw_4_qps": lambda address: perftest("ib_read_bw", address, "-q", "4"),
}


def test():
    address = ADDRESSES[sys.argv[2] if len(sys.argv) > 2 else "ipv4"]
    if sys.argv[1] != "removed":
        harness.isolate()
    CASES[sys.argv[1]](address)


harness.main(test)
