#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Another program of the host sends packets with the address of a connection's peer, which is behind another interface of
the host, and with a port of its own. They do not count."""

import json
import struct
import subprocess

import harness
from harness import Process
from mad import Sender

CNP = 0x81
PACKETS = 100
HERE, PEER = "10.9.1.1", "10.9.2.1"


def add_interfaces():
    """What they send to each other goes by lo."""
    subprocess.run(["ip", "link", "add", "urxa", "type", "veth", "peer", "name", "urxb"], check=True)
    for name, address in (("urxa", HERE), ("urxb", PEER)):
        subprocess.run(["ip", "address", "add", f"{address}/24", "dev", name], check=True)
        subprocess.run(["ip", "link", "set", name, "up"], check=True)


def connected_queue_pair(process):
    """The number of the program's queue pair, once its peer has answered."""
    words = [harness.binary("urxe"), "stat", "--json", "--pid", str(process.pid)]

    def found():
        harness.expect(process.running(), "the program ended")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        devices = json.loads(done.stdout)["devices"] if done.returncode == 0 else []
        return [qp for device in devices for qp in device["queue_pairs"] if qp["counters"]["received_packets"] > 0]

    harness.wait_until(found, "the first answer")
    return found()[0]["qpn"]


def handled():
    found = harness.hw_counters("urxe_urxa")
    return found["rp_cnp_handled"], found["drop_wrong_peer"]


def test():
    harness.need_namespaces()
    harness.need_programs("ib_write_bw")
    add_interfaces()
    port = harness.free_port()
    words = ["ib_write_bw", "-x", "1", "-F", "-s", "1024", "-D", "600", "-p", str(port)]
    server = Process(harness.urxe_run([*words, "-d", "urxe_urxb"], ["--no-shm"]), "server")
    server.wait_for_listener(port)
    client = Process(harness.urxe_run([*words, "-d", "urxe_urxa", PEER], ["--no-shm"]), "client")
    number = connected_queue_pair(client)
    stranger = Sender(PEER, HERE)

    def have_come():
        harness.expect(client.running(), "the client ended")
        for _ in range(PACKETS):
            stranger.send(struct.pack(">BBHII", CNP, 0, 0xffff, number, 0) + bytes(16))
        return sum(handled()) >= PACKETS

    harness.wait_until(have_come, "the stranger's packets")
    harness.expect(handled()[0] == 0, f"{handled()[0]} congestion notifications of a stranger were handled")


harness.main(test)
