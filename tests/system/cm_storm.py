#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Connections by the thousand over stock librdmacm: each comes to its end in exactly one way, whatever happens to the
other side, and nothing is left behind.

usage: cm_storm.py CASE
"""

import json
import os
import signal
import sys

import harness
from harness import Process

V4, V6 = "127.0.0.1", "::1"
PATIENCE = 200  # Seconds: for who waits until all retries are over.
GROWTH_KB = 8192  # What a process may gain after its first round: the allocator's and the tables' slack.
INVALID_SERVICE, NO_RESOURCES, CONSUMER = "8", "3", "28"
FATES = ("established", "rejected", "unreachable", "address_error", "error")


def said(process, word, nth=-1):
    """The JSON behind the word in the process's output: the last such line."""
    lines = [line for line in process.output.splitlines() if line.startswith(word + " {")]
    harness.expect(lines, f"{process.name} says nothing: {process.output}")
    return json.loads(lines[nth][len(word) + 1:])


def start(words, name):
    return Process(harness.urxe_run([harness.binary("urxe_cm_storm"), *map(str, words)]), name=name)


class Server:
    def __init__(self, port, nodes=(V4,), options=()):
        self.process = start(["server", port, *nodes, *options], f"server {port}")
        harness.wait_until(lambda: "ready" in self.process.output or not self.process.running(), "a server to listen")
        if not self.process.running():
            self.process.show()
            harness.fail("the server ended")

    def kill(self):
        self.process.kill(signal.SIGKILL)

    def report(self):
        """What the server says of itself, without an end to it."""
        count = self.process.output.count("server {")
        os.kill(self.process.pid, signal.SIGUSR1)
        harness.wait_until(lambda: self.process.output.count("server {") > count or not self.process.running(),
                           "the server's report")
        return said(self.process, "server")

    def settled(self):
        """The report once no connection is open any more."""
        report = {}

        def nothing_open():
            report.update(self.report())
            return report["open"] == 0
        harness.wait_until(nothing_open, "the server's connections to end")
        return report

    def stop(self):
        report = self.settled()
        self.process.kill(signal.SIGTERM)
        self.process.expect_success()
        return report


def client(port, connects, at_once, nodes=(V4,), options=()):
    words = ["client", port, *nodes, "--connects", connects, "--at-once", at_once, *options]
    return start(words, f"client {port}")


def finish(process, looks=0):
    """looks: hosts whose ports urxe may be looking at, for two seconds, with a descriptor each."""
    process.expect_success(PATIENCE)
    result = said(process, "client")
    print(process.name, json.dumps(result), flush=True)
    harness.expect(sum(result[fate] for fate in FATES) == result["decided"], "each id has one fate")
    expect_no_leak(process.name, result["first"], result["last"], looks)
    return result


def expect_no_leak(name, first, last, looks=0):
    for what, more in (("descriptors", looks), ("threads", 0)):
        harness.expect(last[what] <= first[what] + more, f"{name}: {what} went from {first[what]} to {last[what]}")
    # A sanitizer keeps what was freed for a while.
    if not harness.sanitized():
        grown = last["resident_kb"] - first["resident_kb"]
        harness.expect(grown <= GROWTH_KB, f"{name}: {grown} KiB more than after the first round")


def expect_all(result, connects, fate="established", reason=None):
    harness.expect(result["decided"] == connects, f"{result['decided']} of {connects} ids came to an end")
    harness.expect(result[fate] == connects, f"{result[fate]} of {connects} ids were {fate}")
    if reason is not None:
        harness.expect(result["reasons"] == {reason: connects}, f"rejected for {result['reasons']}")


def storm(connects, at_once, clients=1, nodes=(V4,), options=("--send",)):
    port = harness.free_port()
    server = Server(port, nodes)
    # What tables and buffers grow to with so many connections is no leak.
    for one in [client(port, at_once, at_once, nodes, options) for _ in range(clients)]:
        expect_all(finish(one), at_once)
    first = server.settled()
    started = [client(port, connects // clients, at_once, nodes, options) for _ in range(clients)]
    for one in started:
        expect_all(finish(one), connects // clients)
    last = server.settled()
    total = (at_once + connects // clients) * clients
    for what in ("requests", "established", "disconnected"):
        harness.expect(last[what] == total, f"the server has {last[what]} {what}, not {total}")
    harness.expect(last["failed"] == 0, "all the server's connections were established")
    expect_no_leak("server", first["footprint"], last["footprint"])
    print("server", json.dumps(server.stop()))


def backlog():
    """A server that takes eight at a time: who finds no room hears of it."""
    port = harness.free_port()
    server = Server(port, options=["--backlog", 8])
    result = finish(client(port, 2000, 1000))
    harness.expect(result["established"] > 0 and result["rejected"] > 0, "some found room, and some did not")
    harness.expect(result["established"] + result["rejected"] == 2000, "all were established or rejected")
    harness.expect(result["reasons"] == {NO_RESOURCES: result["rejected"]}, f"rejected for {result['reasons']}")
    report = server.stop()
    harness.expect(report["established"] == result["established"], "both ends agree")


def rejections():
    port = harness.free_port()
    server = Server(port, options=["--reject-every", 2])
    result = finish(client(port, 2000, 500))
    harness.expect(result["established"] == result["rejected"] == 1000, "every other one was rejected")
    harness.expect(result["reasons"] == {CONSUMER: 1000}, f"rejected for {result['reasons']}")
    server.stop()


def nobody():
    """No server: by the client's own process, and by another one's that listens elsewhere."""
    expect_all(finish(client(harness.free_port(), 2000, 1000, [V4, V6])), 2000, "rejected", INVALID_SERVICE)
    server = Server(harness.free_port(), [V4, V6])
    expect_all(finish(client(harness.free_port(), 2000, 1000, [V4, V6])), 2000, "rejected", INVALID_SERVICE)
    harness.expect(server.stop()["requests"] == 0, "nothing came to the wrong port")


def restarts(kills=3):
    """The server is killed in the middle and started again on the same port: every id comes to an end, and the next
    server is connected to."""
    port = harness.free_port()
    one = client(port, 50, 50, options=["--until-killed"])
    for _ in range(kills):
        server = Server(port)
        harness.wait_until(lambda: server.report()["established"] >= 100, "connections to a new server", PATIENCE)
        server.kill()
    server = Server(port)
    harness.wait_until(lambda: server.report()["established"] >= 100, "connections to the last server", PATIENCE)
    one.kill(signal.SIGTERM)
    result = finish(one, looks=1)
    harness.expect(result["established"] >= 100 * (kills + 1), "connections to each server")
    server.stop()


def listeners():
    """Servers and clients in processes of their own, on different ports of the same addresses."""
    ports = [harness.free_port() for _ in range(3)]
    servers = [Server(port, [V4, V6]) for port in ports]
    for one in [client(port, 600, 200, [V4, V6], ["--send"]) for port in ports]:
        expect_all(finish(one), 600)
    for server in servers:
        harness.expect(server.stop()["requests"] == 600, "each server got its own requests")


def stopped():
    """One of two servers of an address is stopped: the other one is connected to all the same, and the first once it
    goes on."""
    ports = [harness.free_port() for _ in range(2)]
    first, second = [Server(port) for port in ports]
    first.process.kill(signal.SIGSTOP)
    expect_all(finish(client(ports[1], 200, 50, options=["--send"])), 200)
    # Some requests to the first one wait at its sockets by then.
    waiting = client(ports[0], 200, 50, options=["--send"])
    expect_all(finish(client(ports[1], 200, 50, options=["--send"])), 200)
    first.process.kill(signal.SIGCONT)
    expect_all(finish(waiting), 200)
    for server in (first, second):
        server.stop()


def crowd(processes=20):
    """Many processes, each with a listener; some end and some are killed while clients come and go."""
    ports = [harness.free_port() for _ in range(processes)]
    servers = [Server(port) for port in ports]
    bystanders = [client(port, 50, 50, options=["--until-killed"]) for port in ports[:4]]
    started = [client(port, 60, 20, options=["--send"]) for port in ports[4:12]]
    for server in servers[12:16]:
        server.kill()
    for server in servers[16:]:
        server.stop()
    bystanders[0].kill(signal.SIGKILL)
    for one in started:
        expect_all(finish(one), 60)
    for port in ports[12:]:
        expect_all(finish(client(port, 20, 20)), 20, "rejected", INVALID_SERVICE)
    for one in bystanders[1:]:
        one.kill(signal.SIGTERM)
        result = finish(one)
        expect_all(result, result["decided"])
    for server in servers[:12]:
        server.stop()


CASES = {
    "small": lambda: storm(200, 50, nodes=(V4, V6)),
    "ten_thousand": lambda: storm(10000, 1000),
    "clients_4": lambda: storm(4000, 250, clients=4, nodes=(V4, V6)),
    "backlog": backlog,
    "rejections": rejections,
    "nobody": nobody,
    "restarts": restarts,
    "listeners": listeners,
    "stopped": stopped,
    "crowd": crowd,
}


def test():
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    harness.expect(case in CASES, f"no case {case}")
    harness.isolate()
    CASES[case]()


harness.main(test)
