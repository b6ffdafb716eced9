#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Stock librdmacm programs over urxe on the loopback interface or between two hosts.

usage: rdma_cm.py CASE [ipv4|ipv6|veth_ipv4|veth_ipv6|veth_link_local]
"""

import hashlib
import os
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile

import cm_place
import harness
from cm_place import PATIENCE, TCP, UDP
from harness import Process


def rping(place, *options):
    port = str(harness.free_port())
    words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-v", "-C", "20", *options]
    server, _ = place.pair([*words(place.server), "-s"], [*words(place.client), "-c"], int(port))
    harness.expect(server.count("ping data") == 20, server)


def rping_sizes(place):
    """Its largest is one byte less than 64 KiB; the buffers must take the text of a ping."""
    for size in ("23", "64", "1024", "4097", "65535"):
        port = str(harness.free_port())
        words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-C", "10", "-S", size]
        place.pair([*words(place.server), "-s"], [*words(place.client), "-c"], int(port))


def rping_persistent(place):
    """One server serves client after client. (Of two that come at once it may forget one.)"""
    harness.need_programs("rping")
    port = str(harness.free_port())
    words = lambda address: ["rping", "-d", "-a", address, "-p", port, "-V", "-C", "5"]
    server = place.start_server([*words(place.server), "-s", "-P"], int(port))
    for _ in range(5):
        place.run_client([*words(place.client), "-c"])
    harness.expect(server.running(), "the server ended")


def ucmatose(place, *options):
    family = ["-f", "ipv6"] if place.is_ipv6() else []
    port = str(harness.free_port())
    words = ["ucmatose", "-p", port, *family, *options]
    _, client = place.pair([*words, "-b", place.server], [*words, "-s", place.client], int(port))
    harness.expect("test complete" in client and "return status 0" in client, client)


def rdma_server(place, kind=""):
    """The pair of rdma_server and rdma_client, or (x) the one that does XRC too."""
    port = str(harness.free_port())
    options = ["-p", port] + (["-c", kind[1]] if len(kind) > 1 else [])
    server = [f"rdma_{kind[:1]}server", *options] + ([] if kind else ["-s", place.server])
    space = 0x013F if kind == "xx" else TCP
    _, client = place.pair(server, [f"rdma_{kind[:1]}client", *options, "-s", place.client], int(port), space)
    harness.expect("end 0" in client, client)


def udaddy(place, *options):
    words = ["udaddy", *(["-f", "ipv6"] if place.is_ipv6() else []), *options]
    _, client = place.pair([*words, "-b", place.server], [*words, "-s", place.client], 7174, UDP)
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


def mckey(place):
    harness.need_programs("mckey")
    group = "239.7.9.5"
    if place.is_ipv6():
        if place.server == "::1":
            if not harness.is_root():
                harness.skip("needs root, for a route to groups")
            subprocess.run(["ip", "-6", "route", "add", "local", "ff00::/8", "dev", "lo"], check=True)
        group = "ff0e::79:5"
    words = lambda address: harness.urxe_run(["mckey", "-m", group, "-b", address])
    receiver = Process(words(place.server), name="receiver")
    harness.wait_until(lambda: is_member(group) or not receiver.running(), "the receiver to join", PATIENCE)
    sender = Process([*place.there(words(place.source)), "-s"], name="sender").expect_success(PATIENCE)
    received = receiver.expect_success(PATIENCE)
    harness.expect("return status 0" in received and "return status 0" in sender, received + sender)


def stream(place, program, *options):
    """Data through rsockets, which the receiver verifies."""
    port = str(harness.free_port())
    words = [program, "-p", port, "-T", "v", "-I", "20", "-C", "5", *options]
    _, client = place.pair([*words, "-b", place.server], [*words, "-s", place.client], int(port))
    harness.expect(re.search(r"Gb/sec", client), client)


def rstream_async(place):
    """rstream that polls. Its client may end with 16, POLLHUP, when all data has arrived: what the server sends last and
    the message of rshutdown() right after it may be there when it polls, rpoll() takes in both and answers
    POLLIN | POLLHUP, and rstream looks at the latter first. Over the kernel's soft-RoCE it does so, too."""
    harness.need_programs("rstream")
    port = str(harness.free_port())
    words = ["rstream", "-p", port, "-T", "v", "-T", "a", "-S", "4096", "-I", "20", "-C", "5"]
    server = place.start_server([*words, "-b", place.server], int(port))
    code = place.start_client([*words, "-s", place.client]).wait(PATIENCE)
    harness.expect(code in (0, select.POLLHUP), f"rstream ended with {code}")
    harness.expect(re.search(r"Gb/sec", server.expect_success(PATIENCE)), "the server has had and sent all data")


def udpong(place, *options):
    """Datagrams through rsockets. Both sides wait for ever where one gets lost, so that none may."""
    port = str(harness.free_port())
    words = ["udpong", "-p", port, "-C", "100", "-S", "1000", *options]
    harness.need_programs("udpong")
    harness.expect(not place.is_ipv6(), "udpong takes no IPv6 addresses")
    server = Process(harness.urxe_run([*words, "-b", place.server]), name="server")
    harness.wait_until(lambda: binds_udp(int(port)) or not server.running(), "the server to bind", PATIENCE)
    client = place.run_client([*words, "-s", place.client])
    harness.expect(re.search(r"^1000 +\d+k? +100", client, re.M) or "Gb/sec" in client, client)
    harness.expect(server.running(), "the server ended")


def binds_udp(port):
    with open("/proc/net/udp") as lines:
        return any(f":{port:04X} " in line for line in lines)


def rcopy(place):
    """A file goes from one directory to another."""
    harness.need_programs("rcopy")
    port = str(harness.free_port())
    with tempfile.TemporaryDirectory() as directory:
        source, target = (os.path.join(directory, name) for name in ("source", "target"))
        with open(source, "wb") as file:
            file.write(hashlib.sha512(b"rcopy").digest() * 65536)
        place.start_server(["rcopy", "-p", port], int(port))
        place.run_client(["rcopy", source, f"{place.client}:{target}", "-p", port])
        with open(source, "rb") as sent, open(target, "rb") as received:
            harness.expect(sent.read() == received.read(), "the copy is another file")


def cmtime(place):
    """Each step of a hundred connections has a line in the table, with its times."""
    harness.need_programs("cmtime")
    port = str(harness.free_port())
    refusal = "Address family for hostname not supported"  # Of rdma-core 56, for IPv6.
    nobody_listens = harness.urxe_run(["cmtime", "-p", port, "-c", "1", "-s", place.server])
    said = subprocess.run(nobody_listens, check=False, timeout=PATIENCE, capture_output=True, text=True)
    if refusal in said.stdout + said.stderr:
        harness.skip(f"this cmtime says of {place.server}: {refusal}")
    words = ["cmtime", "-p", port, "-c", "100"]
    place.start_server([*words, "-b", place.server], int(port))
    client = place.run_client([*words, "-s", place.client])
    for step in ("create id", "resolve addr", "resolve route", "create qp", "connect", "disconnect", "destroy"):
        # Of rdma-core 44 "connect    :   1.5  20.1", of 56 "cm connect    1242   124288".
        harness.expect(re.search(rf"^(cm )?{step}( id)? *:?( +\d+(\.\d+)?)+$", client, re.M), client)
    print(client)


# The commands of the ABI, written by hand: the librdmacm that has rdma_write_cm_event() is newer than Debian 12's.
WRITTEN_EVENTS = """
import ctypes, os, struct
library = ctypes.CDLL("librdmacm.so.1")
library.rdma_create_event_channel.restype = ctypes.POINTER(ctypes.c_int)
channel = library.rdma_create_event_channel()[0]
def command(number, layout, *values, out=0):
    text = struct.pack(layout, *values)
    return os.write(channel, struct.pack("IHH", number, len(text), out) + text)
def write(number, event):
    command(24, "IIIIQ296x", number, 0, event, 7, 1 << 40)
answer = ctypes.create_string_buffer(4)
command(0, "QQHBB4x", 99, ctypes.addressof(answer), 0x0106, 0, 0, out=4)
number, = struct.unpack("I", answer.raw)
for event in (18, 19):
    write(number, event)
    told = ctypes.create_string_buffer(336)
    command(12, "Q", ctypes.addressof(told), out=336)
    assert struct.unpack_from("QIII", told.raw) == (99, number, event, 7), told.raw[:20]
    assert struct.unpack_from("Q", told.raw, 20) == (1 << 40,), told.raw[20:28]
for wrong in ((number, 0), (number, 16), (number + 1000, 18)):
    try:
        write(*wrong)
    except OSError:
        continue
    raise SystemExit(f"written: {wrong}")
print("all told")
"""


def written_events(_place):
    output = Process(harness.urxe_run([sys.executable, "-c", WRITTEN_EVENTS]), "events").expect_success()
    harness.expect("all told" in output, output)


CASES = {
    "rping": rping,
    "rping_sizes": rping_sizes,
    "rping_persistent": rping_persistent,
    "rping_own_queue_pair": lambda place: rping(place, "-q"),
    "ucmatose": ucmatose,
    "ucmatose_many": lambda place: ucmatose(place, "-c", "100", "-C", "2"),
    "ucmatose_large": lambda place: ucmatose(place, "-c", "4", "-C", "20", "-S", "65536"),
    "ucmatose_migrate": lambda place: ucmatose(place, "-m", "-c", "5"),
    "ucmatose_options": lambda place: ucmatose(place, "-t", "32", "-a", "14"),
    "rdma_server": rdma_server,
    "rdma_xserver": lambda place: rdma_server(place, "x"),
    "rdma_xserver_xrc": lambda place: rdma_server(place, "xx"),
    "udaddy": udaddy,
    "udaddy_many": lambda place: udaddy(place, "-c", "20"),
    "mckey": mckey,
    "rstream": lambda place: stream(place, "rstream", "-S", "4096"),
    "rstream_nonblocking": lambda place: stream(place, "rstream", "-S", "4096", "-T", "n"),
    "rstream_blocking": lambda place: stream(place, "rstream", "-S", "4096", "-T", "b"),
    "rstream_async": rstream_async,
    "riostream": lambda place: stream(place, "riostream", "-S", "4096"),
    "udpong": udpong,
    "rcopy": rcopy,
    "cmtime": cmtime,
    "written_events": written_events,
}


def test():
    case, kind = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "ipv4"
    with cm_place.place(kind) as place:
        CASES[case](place)


harness.main(test)
