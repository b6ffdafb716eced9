#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What strangers send to QP1 harms nobody: connections go on carrying messages, new ones can be made, processes
survive and keep within their bounds, and what is dropped is counted by its reason.

usage: cm_abuse.py CASE
"""

import json
import os
import random
import signal
import struct
import subprocess
import sys

import harness
import mad
from harness import Process

HERE, STRANGER = "127.0.0.1", "127.0.0.9"
COUNTERS = "/sys/class/infiniband/urxe_lo/ports/1"
HELD = 8  # Connections.
MOST_HALF_OPEN = 1200  # In all; some are asked for before the first of them is answered.
BOUND_KB = 65536  # What a flood may make a process grow by: a table of max_ids would be more.
random.seed(20240607)


def start(words, name):
    return Process(harness.urxe_run([harness.binary("urxe_cm_storm"), *map(str, words)]), name=name)


def counters(group="hw_counters"):
    shown = subprocess.run(harness.urxe_run(["grep", "-H", ".", "-r", f"{COUNTERS}/{group}"]), check=True,
                           capture_output=True, text=True, env=harness.environment()).stdout
    return {line.rsplit(":", 1)[0].rsplit("/", 1)[1]: int(line.rsplit(":", 1)[1])
            for line in shown.splitlines() if line.rsplit(":", 1)[1].strip("-").isdigit()}


class Victims:
    """A server and a client with connections between them, and a record of how they were made."""

    def __init__(self, options=(), address=HERE, listen_at=None):
        self.port = harness.free_port()
        self.address = address
        recorder = mad.Recorder()
        self.server = start(["server", self.port, listen_at or address, *options], "server")
        self._wait(self.server, "ready", 1)
        finished = start(["client", self.port, address, "--connects", 4, "--at-once", 4], "recorded client")
        finished.expect_success()
        self.finished = recorder.packets()
        self.client = start(["client", self.port, address, "--connects", HELD, "--at-once", HELD, "--hold"], "client")
        self._wait(self.client, "holding", 1)
        self.live = recorder.packets()
        recorder.close()
        kinds = {mad.attribute_of(packet) for _, _, packet in self.finished}
        harness.expect({mad.REQ, mad.REP, mad.RTU, mad.DREQ, mad.DREP} <= kinds, f"a whole conversation, not {kinds}")
        self.exchanges = 0

    @staticmethod
    def _wait(process, word, count):
        harness.wait_until(lambda: process.output.count(word) >= count or not process.running(), f"'{word}'")
        if not process.running():
            process.show()
            harness.fail(f"{process.name} ended")

    def live_of(self, attribute):
        return [packet for _, _, packet in self.live if mad.attribute_of(packet) == attribute]

    def report(self):
        count = self.server.output.count("server {")
        os.kill(self.server.pid, signal.SIGUSR1)
        self._wait(self.server, "server {", count + 1)
        return json.loads(self.server.output.splitlines()[-1][len("server "):])

    def expect_unharmed(self):
        """A message over each connection, and a new client."""
        self.exchanges += 1
        os.kill(self.client.pid, signal.SIGUSR1)
        self._wait(self.client, "exchanged", self.exchanges)
        new = start(["client", self.port, self.address, "--connects", 4, "--at-once", 4, "--send"], "new client")
        result = json.loads(new.expect_success().splitlines()[-1][len("client "):])
        harness.expect(result["established"] == 4, f"a new client's connections: {result}")

    def finish(self):
        self.expect_unharmed()
        self.client.kill(signal.SIGTERM)
        self.client.expect_success()
        self.server.kill(signal.SIGTERM)
        self.server.expect_success()


def wait_counted(before, least, group="hw_counters"):
    """Returns when the counters have gained at least so much. Less than was sent: sockets may be full."""
    def is_counted():
        after = counters(group)
        return all(after[name] - before[name] >= count for name, count in least.items())
    try:
        harness.wait_until(is_counted, f"{least} in {group}")
    finally:
        after = counters(group)
        print({name: after[name] - before[name] for name in after if after[name] != before[name]}, flush=True)


def paced(sender, packets, victims):
    """Sends, with a look at the victims now and then: no more at once than sockets hold."""
    for number, packet in enumerate(packets):
        sender.send(packet)
        if number % 100 == 99:
            victims.report()


def garbage():
    """Not MADs at all, or not ours."""
    victims = Victims()
    before = counters()
    sender = mad.Sender(STRANGER, HERE)
    for size in (*range(0, 300, 7), 1000, 4000):
        sender.send_raw(random.randbytes(size))
        sender.send(random.randbytes(size))
    whole = victims.live_of(mad.REQ)[0]
    for size in range(0, mad.MAD, 4):
        sender.send(whole[:mad.BTH_DETH + size])
    for _ in range(5):
        sender.send_raw(whole + b"\0\0\0\0")  # not its ICRC
        sender.send(whole + bytes(16))
        sender.send(mad.message(mad.REQ, b"", base=2))
        sender.send(mad.message(mad.REQ, b"", **{"class": 0x03}))
        sender.send(mad.message(mad.REQ, b"", method=0x01))
        sender.send(mad.message(0x1234, b""))
    wait_counted(before, {"drop_mad_length": 3, "drop_mad_version": 3, "drop_mad_class": 3, "drop_mad_method": 3,
                          "drop_mad_unknown_attribute": 3, "drop_bad_icrc": 3})
    victims.finish()


def random_fields():
    """Each message, with fields that come as they like; also under the ids of living communications."""
    victims = Victims()
    before, received = counters(), counters("cm_rx_msgs")
    ids = [mad.ids_of(packet) for packet in victims.live_of(mad.REP) + victims.live_of(mad.RTU)]
    sender = mad.Sender(STRANGER, HERE)
    packets = []
    for number in range(150):
        for attribute in mad.ATTRIBUTES:
            body = random.randbytes(mad.MAD - 24)
            if number % 2:
                body = struct.pack(">II", *random.choice(ids)[::-1]) + body[8:]
            packets.append(mad.message(attribute, body, transaction=random.getrandbits(64)))
    random.shuffle(packets)
    paced(sender, packets, victims)
    # From another address than their peer's.
    wait_counted(before, {"drop_mad_wrong_peer": 200, "drop_mad_unknown_id": 100})
    wait_counted(received, {"req": 10, "sidr_req": 10}, "cm_rx_msgs")
    harness.expect(victims.report()["requests"] == 4 + HELD, "no request came to the server's service")
    victims.finish()


def replays():
    """A recorded conversation again, of the past and of the present, in order and out of it, by its own address."""
    victims = Victims()
    before = counters("cm_rx_duplicates")
    sender = mad.Sender(HERE, HERE)
    live = [packet for _, _, packet in victims.live]
    for _ in range(20):
        random.shuffle(live)
        for packet in live:
            if mad.attribute_of(packet) in (mad.REQ, mad.REP, mad.RTU):
                sender.send(packet)
        victims.report()
    wait_counted(before, {"req": 10 * HELD, "rtu": 10 * HELD, "rep": 10 * HELD}, "cm_rx_duplicates")
    harness.expect(victims.report()["requests"] == 4 + HELD, "the server was asked once for each connection")
    # What is over begins anew for the server, but ends where the client's process is no more.
    for _ in range(5):
        for _, _, packet in victims.finished:
            sender.send(packet)
    victims.finish()


def forgeries():
    """Messages under the ids of living connections: from elsewhere, and from the right address for another queue
    pair."""
    victims = Victims()
    before = counters()
    stranger, neighbour = mad.Sender(STRANGER, HERE), mad.Sender(HERE, HERE)
    count = 0
    for rtu in victims.live_of(mad.RTU):
        client_id, server_id = mad.ids_of(rtu)
        for local, remote in ((client_id, server_id), (server_id, client_id)):
            ids = struct.pack(">II", local, remote)
            for attribute in (mad.REJ, mad.DREQ, mad.DREP, mad.REP, mad.RTU, mad.MRA, mad.LAP, mad.APR):
                stranger.send(mad.message(attribute, ids))
                count += 1
            neighbour.send(mad.message(mad.DREQ, ids + b"\x12\x34\x56"))
            # Ids are guessed one at a time.
            neighbour.send(mad.message(mad.REJ, struct.pack(">II", local ^ 1, remote)))
            neighbour.send(mad.message(mad.DREQ, struct.pack(">II", local ^ 1, remote) + b"\0\0\x11"))
    wait_counted(before, {"drop_mad_wrong_peer": count // 2, "drop_mad_wrong_state": HELD})
    victims.expect_unharmed()
    victims.finish()


def request_like(template, number, source=STRANGER):
    """A REQ of a communication that there is not; its sender takes any answer for granted, and at once."""
    return mad.changed(
        template, (8, struct.pack(">Q", number)), (24, struct.pack(">I", 0x40000000 + number)),
        (24 + 16, struct.pack(">Q", 0x0200000000000000 + number)), (24 + 32, struct.pack(">I", number + 16)[1:]),
        (24 + 43, b"\0"), (24 + 47, b"\0"), (24 + 51, b"\0"),  # no time to answer, and no retries
        (24 + 56, bytes(10) + b"\xff\xff" + bytes(map(int, source.split(".")))), (24 + 95, b"\0"))


def flood():
    """More requests than the application takes at a time."""
    victims = Victims(["--backlog", "16"])
    before = victims.report()
    dropped = counters()
    received = counters("cm_rx_msgs")
    template = victims.live_of(mad.REQ)[0]
    sender = mad.Sender(STRANGER, HERE)
    for number in range(5000):
        sender.send(request_like(template, number))
    wait_counted(received, {"req": 100}, "cm_rx_msgs")
    after = victims.report()
    print(json.dumps(after), sender.sent, dropped["drop_mad_no_room"], flush=True)
    grown = after["footprint"]["resident_kb"] - before["footprint"]["resident_kb"]
    harness.expect(grown < BOUND_KB or harness.sanitized(), f"the server has {grown} KiB more")
    harness.wait_until(lambda: victims.report()["open"] == HELD, "what was accepted to come to nothing")
    victims.finish()


def listener_flood(sources, timeout=20):
    """20,000 requests a second to the very port that is listened on, which nobody stands behind: connections go on, new
    ones are made meanwhile, and the application is asked for few."""
    victims = Victims()
    dropped = counters()
    before = victims.report()
    seconds = 4
    flood = Process([harness.binary("urxe_req_flood"), victims.port, 20000, seconds, sources, 1, timeout], name="flood")
    harness.wait_until(lambda: victims.report()["requests"] > before["requests"] + 20, "the flood to begin")
    for _ in range(3):
        victims.expect_unharmed()
    flood.expect_success()
    wait_counted(dropped, {"drop_mad_over_quota": 1000})
    after = victims.report()
    print(json.dumps(after), flood.output, flush=True)
    harness.expect(after["open"] < MOST_HALF_OPEN, f"{after['open']} queue pairs for nobody")
    grown = after["footprint"]["resident_kb"] - before["footprint"]["resident_kb"]
    harness.expect(grown < BOUND_KB or harness.sanitized(), f"the server has {grown} KiB more")
    victims.finish()


def flood_of_one():
    listener_flood(1)


def flood_of_many():
    listener_flood(50000)


def hasty_flood():
    """The same, where the requests leave no time for answers."""
    listener_flood(1, timeout=0)


def service_flood():
    """Questions about datagram services that nobody offers, and about one that is none."""
    victims = Victims()
    received = counters("cm_rx_msgs")
    sender = mad.Sender(STRANGER, HERE)
    services = [0x0000000001110000 + number for number in range(300)]
    services += [0x0000000001060000 + victims.port] * 100
    packets = [mad.message(mad.SIDR_REQ, struct.pack(">IHHQ", number, 0xffff, 0, service), transaction=number)
               for number, service in enumerate(services)]
    paced(sender, packets, victims)
    wait_counted(received, {"sidr_req": 300}, "cm_rx_msgs")
    harness.expect(victims.report()["requests"] == 4 + HELD, "no request came to the server")
    victims.finish()


def lies():
    """Requests whose IP addresses and paths are not what they should be: refused, or taken for what they say, but
    never more than that."""
    victims = Victims()
    received = counters("cm_rx_msgs")
    template = victims.live_of(mad.REQ)[0]
    sender = mad.Sender(STRANGER, HERE)
    sent = 0
    for number in range(200):
        request = request_like(template, number)
        private = 24 + 140
        lie = random.choice([
            (private, bytes([random.randrange(256), random.randrange(256)])),  # versions
            (private + 20, random.randbytes(16)),  # another destination
            (private + 4, bytes(16)),  # no source
            (private, bytes(92)), (private, b"\xff" * 92),
            (24 + 72, random.randbytes(16)),  # a path to somebody else
            (24 + 50, bytes([random.choice((0x00, 0x60, 0xf0))])),  # path MTU
            (24 + 43, b"\x06"), (24 + 51, b"\xf7"),  # transport service, extended transport
            (24 + 52, random.randbytes(44)),
        ])
        sender.send(mad.changed(request, lie))
        sent += 1
        if sent % 50 == 0:
            victims.report()
    wait_counted(received, {"req": sent // 2}, "cm_rx_msgs")
    harness.wait_until(lambda: victims.report()["open"] == HELD, "what was accepted to come to nothing")
    victims.finish()


def loopback_listener():
    """A listener at 127.0.0.1 waits on a device that leads to other hosts, but only this host reaches it, whatever a
    request says of its destination."""
    global COUNTERS
    here, other = harness.two_hosts()
    COUNTERS = f"/sys/class/infiniband/{here.device}/ports/1"
    victims = Victims()
    asked = victims.report()["requests"]
    received, sent = counters("cm_rx_msgs"), counters("cm_tx_msgs")
    template = victims.live_of(mad.REQ)[0]
    request = request_like(template, 1, other.ipv4)
    send = f"import mad; mad.Sender({other.ipv4!r}, {here.ipv4!r}).send(bytes.fromhex({request.hex()!r}))"
    subprocess.run(other.command([sys.executable, "-B", "-c", send]), check=True, cwd=os.path.dirname(mad.__file__))
    wait_counted(received, {"req": 1}, "cm_rx_msgs")
    wait_counted(sent, {"rej": 1}, "cm_tx_msgs")
    harness.expect(victims.report()["requests"] == asked, "another host has reached it")
    mad.Sender(here.ipv4, here.ipv4).send(request_like(template, 2, here.ipv4))
    harness.wait_until(lambda: victims.report()["requests"] == asked + 1, "a request of this host")
    victims.finish()


def false_addresses():
    """Another host cannot pose as this one, as a third one or as none: neither in the addresses that applications see,
    nor in the path that the connection would take. The defect: whoever a REQ named was the peer, 127.0.0.1 for one."""
    global COUNTERS
    here, other = harness.two_hosts()
    COUNTERS = f"/sys/class/infiniband/{here.device}/ports/1"
    victims = Victims(address=here.ipv4, listen_at="0.0.0.0")
    asked = victims.report()["requests"]
    sent = counters("cm_tx_msgs")
    mapped = lambda address: bytes(10) + b"\xff\xff" + bytes(map(int, address.split(".")))
    private = 24 + 140
    honest = mad.changed(victims.live_of(mad.REQ)[0], (private + 4, mapped(other.ipv4)))
    lies = [(private + 4, mapped(source)) for source in ("127.0.0.1", here.ipv4, "0.0.0.0", "224.1.1.1", "192.0.2.7")]
    lies += [(private + 20, mapped(destination)) for destination in ("127.0.0.1", other.ipv4, "192.0.2.7")]
    lies += [(private + 1, b"\x60"), (24 + 56, mapped("192.0.2.7")), (24 + 56, bytes(16)), (24 + 72, mapped(other.ipv4))]
    lies += [(24 + 48, b"\x80\x01")]  # not a partition of the device
    requests = [mad.changed(request_like(honest, number, other.ipv4), lie) for number, lie in enumerate(lies)]

    def send(packets):
        said = [packet.hex() for packet in packets]
        code = f"import mad; s = mad.Sender({other.ipv4!r}, {here.ipv4!r}); [s.send(bytes.fromhex(x)) for x in {said!r}]"
        subprocess.run(other.command([sys.executable, "-B", "-c", code]), check=True, cwd=os.path.dirname(mad.__file__))

    send(requests)
    wait_counted(sent, {"rej": len(lies)}, "cm_tx_msgs")
    harness.expect(victims.report()["requests"] == asked, "the server has believed one of them")
    send([request_like(honest, 100, other.ipv4)])
    harness.wait_until(lambda: victims.report()["requests"] == asked + 1, "the request without a lie")
    victims.finish()


CASES = {case.__name__: case
         for case in (garbage, random_fields, replays, forgeries, flood, flood_of_one, flood_of_many, hasty_flood,
                      service_flood, lies, loopback_listener, false_addresses)}


def test():
    case = sys.argv[1] if len(sys.argv) > 1 else ""
    harness.expect(case in CASES, f"no case {case}")
    if case not in ("loopback_listener", "false_addresses"):
        harness.need_namespaces()
    CASES[case]()


harness.main(test)
