#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Queue pairs for raw packets between two hosts. usage: raw_packet.py CASE [ARGUMENT...]"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import harness
from harness import Process

INTERFACE, DEVICE = harness.Host.interface, harness.Host.device


class Link:
    """The two ends of a link: this host, with 10.0.0.1, and the other one, with 10.0.0.2."""

    def __init__(self, mtu=1500):
        _, self.other = harness.two_hosts(mtu)
        self.macs = [self._mac(end) for end in (0, 1)]

    def enter(self, end, command):
        return command if end == 0 else self.other.command(command)

    def urxe(self, end, command, options=()):
        return self.enter(end, harness.urxe_run(command, options))

    def _mac(self, end):
        told = subprocess.run(self.enter(end, ["ip", "-j", "link", "show", INTERFACE]), check=True,
                              capture_output=True, text=True).stdout
        return json.loads(told)[0]["address"]

    def counter(self, end, name):
        path = f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters/{name}"
        return int(Process(self.urxe(end, ["cat", path])).expect_success())

    def await_counter(self, end, name, condition):
        """A program publishes its counters now and then."""
        harness.wait_until(lambda: condition(self.counter(end, name)), name)

    def sockets_that_receive(self, end):
        """How many packet sockets of the namespace receive."""
        lines = subprocess.run(self.enter(end, ["cat", "/proc/net/packet"]), check=True, capture_output=True,
                               text=True).stdout.splitlines()[1:]
        return sum(line.split()[3] == "0003" for line in lines)

    def wait_for_rule(self, end, process, sockets=1):
        def ready():
            if not process.running():
                process.show()
                harness.fail("the receiver has ended")
            return self.sockets_that_receive(end) >= sockets
        harness.wait_until(ready, "a flow steering rule")


def measure(program, *arguments, both=(), mtu=1500):
    """One of perftest's programs, the server at the other end."""
    harness.need_programs(program)
    ends = Link(mtu)
    words = lambda end: [program, "-d", DEVICE, "-F", "-B", ends.macs[end], "-E", ends.macs[1 - end], *both]
    server = Process(ends.urxe(1, [*words(1), "--server", *arguments]), name="server")
    ends.wait_for_rule(1, server)
    client = Process(ends.urxe(0, [*words(0), "--client", *arguments]), name="client")
    for process in (client, server):
        print(process.expect_success())
        harness.expect("Completion with error" not in process.output, process.output)
    ends.await_counter(0, "raw_qp_sent_frames", lambda frames: frames > 0)
    ends.await_counter(1, "raw_qp_rcvd_frames", lambda frames: frames > 0)


def perftest():
    program, *arguments = sys.argv[2:]
    measure(program, *arguments, mtu=9000 if "8900" in arguments else 1500)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def frame(destination, port, payload=b"raw packet", vlan=None, right=True, source="10.0.0.1", to="10.0.0.2",
          sender="02:00:00:00:00:99"):
    """An Ethernet frame with a UDP datagram, in hex; with checksums of 0 unless `right`."""
    mac = lambda text: bytes.fromhex(text.replace(":", ""))
    addresses = socket.inet_aton(source) + socket.inet_aton(to)
    udp = struct.pack(">HHHH", 1000, port, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0) + addresses
    if right:
        pseudo = addresses + struct.pack(">HH", 17, len(udp))
        udp = udp[:6] + struct.pack(">H", checksum(pseudo + udp) or 0xffff) + udp[8:]
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan)
    return (mac(destination) + mac(sender) + tag + b"\x08\0" + ip + udp).hex()


class Receiver:
    """urxe_raw_frames at an end, with rules."""

    def __init__(self, ends, end, *rules, options=()):
        self.process = Process(ends.urxe(end, [harness.binary("urxe_raw_frames"), DEVICE, "receive",
                                               *rules], options))
        harness.wait_until(lambda: self._started(), "the receiver")

    def _started(self):
        if not self.process.running():
            self.process.show()
            harness.fail("the receiver has ended")
        return "ready" in self.process.output

    @property
    def lines(self):
        """(status, whether the checksums are right, frame) of each completion."""
        text = self.process.output.partition("ready\n")[2]
        found = re.findall(r"^(.*) (ok|-) ([0-9a-f]*)\n", text, re.M)
        return [(status, told == "ok", bytes.fromhex(hexed)) for status, told, hexed in found]

    def await_frames(self, chosen, count=1):
        """The first frames for which chosen(frame) is true, as (whether the checksums are right, frame)."""
        find = lambda: [(told, data) for _, told, data in self.lines if chosen(data)]
        try:
            harness.wait_until(lambda: len(find()) >= count, f"{count} frames", timeout=60)
        except SystemExit:
            self.process.show()
            raise
        return find()

    def saw(self, chosen):
        return any(chosen(data) for _, _, data in self.lines)


def send(ends, end, *frames):
    """By a queue pair for raw packets."""
    output = Process(ends.urxe(end, [harness.binary("urxe_raw_frames"), DEVICE, "send",
                                     *frames])).expect_success()
    harness.expect(output.count("success") == len([f for f in frames if f != "csum"]), output)


def has(text):
    return lambda data: text in data


def talk(ends, port, payload, address="10.0.0.2", segment=0):
    """An ordinary UDP socket at this end sends to the other one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        if segment:
            sender.setsockopt(socket.SOL_UDP, 103, segment)  # UDP_SEGMENT
        sender.sendto(payload, (address, port))


def sockets():
    """Datagrams of ordinary sockets arrive by rules, whole and with right checksums."""
    ends = Link()
    receiver = Receiver(ends, 1, "udp:7000", "udp6:7000")
    for address in ("10.0.0.2", "fd00::2"):
        talk(ends, 7001, b"not for the rule", address)
        talk(ends, 7000, b"for the rule" * 5, address)
    (v4, first), (v6, second) = receiver.await_frames(has(b"for the rule" * 5), 2)
    harness.expect(v4 and not v6, "the checksum is that of IPv4 only")
    harness.expect(first[12:14] == b"\x08\0" and second[12:14] == b"\x86\xdd", "whole frames")
    addresses = first[26:34]
    harness.expect(checksum(addresses + struct.pack(">HH", 17, len(first) - 34) + first[34:]) == 0,
                   "the kernel has left the checksum to the hardware, and it is not there")
    harness.expect(not receiver.saw(has(b"not for the rule")), "a frame without a rule")
    ends.await_counter(1, "raw_qp_rcvd_frames", lambda frames: frames >= 2)


def segments():
    """What a sender leaves to the hardware to segment comes as frames of the MTU."""
    ends = Link()
    receiver = Receiver(ends, 1, "udp:7000", "tcp:7002")
    payload = bytes(range(250)) * 40
    talk(ends, 7000, payload, segment=1000)
    found = receiver.await_frames(lambda data: data[23] == 17, 10)
    harness.expect(all(told and len(data) == 1042 for told, data in found), f"segments: {found}")
    harness.expect(b"".join(data[42:] for _, data in found) == payload, "the data")

    server = Process(ends.enter(1, [sys.executable, "-c", SINK]))
    server.wait_for_listener(7002)
    with socket.create_connection(("10.0.0.2", 7002)) as sender:
        sender.sendall(payload * 10)
    server.expect_success()
    harness.wait_until(lambda: sum(map(tcp_payload, receiver.lines)) >= len(payload) * 10, "the stream")
    for status, told, data in receiver.lines:
        harness.expect(status == "success" and told and len(data) <= 1514, f"{status} {told} {len(data)}")


SINK = """
import socket
with socket.create_server(("10.0.0.2", 7002)) as server:
    connection, _ = server.accept()
    while connection.recv(65536): pass
"""


def tcp_payload(line):
    data = line[2]
    if data[23] != 6:
        return 0
    return int.from_bytes(data[16:18], "big") - 20 - (data[46] >> 4) * 4


def sending():
    """What goes out is what was posted, with checksums where they were asked for; tshark is the judge."""
    harness.need_programs("tcpdump", "tshark")
    ends = Link()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "seen.pcap")
        # With padding, as tcpdump sees frames on arrival.
        capture = Process(ends.enter(1, ["tcpdump", "-i", INTERFACE, "-U", "-w", path, "udp port 7000"]))
        harness.wait_until(lambda: "listening" in capture.output, "tcpdump")
        send(ends, 0, frame(ends.macs[1], 7000))
        send(ends, 0, "csum", frame(ends.macs[1], 7000, payload=b"odd bytes", right=False))
        send(ends, 0, frame(ends.macs[1], 7000, payload=b"not asked", right=False))
        harness.wait_until(lambda: b"not asked" in open(path, "rb").read(), "the frames")
        capture.kill(signal.SIGINT)
        capture.wait()
        shown = Process(["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-T",
                         "fields", "-e", "eth.src", "-e", "ip.checksum.status", "-e", "udp.checksum.status", "-e",
                         "data.data"]).expect_success()
        rows = [line.split("\t") for line in shown.splitlines() if "\t" in line]
        expected = [["02:00:00:00:00:99", *states, data.hex()]
                    for states, data in ((("1", "1"), b"raw packet"), (("1", "1"), b"odd bytes"),
                                         (("0", "3"), b"not asked"))]
        harness.expect(rows == expected, f"{rows} instead of {expected}")


def rules():
    """VLANs, other hosts' addresses, dropping, priorities, receives that are too small."""
    ends = Link()
    foreign = "02:00:00:00:00:77"
    receiver = Receiver(ends, 1, "vlan:5", "7@udp:7000", f"mac:{foreign}", "drop@udp:7001", "9@any")
    send(ends, 0, frame(ends.macs[1], 7003, b"tagged 5", vlan=0x2005), frame(foreign, 7003, b"to another"),
         frame("02:00:00:00:00:78", 7000, b"to a third"), frame(ends.macs[1], 7001, b"dropped"),
         frame(ends.macs[1], 7000, b"the last"))
    receiver.await_frames(has(b"the last"))
    (told, tagged), = receiver.await_frames(has(b"tagged 5"))
    harness.expect(tagged[12:16] == bytes.fromhex("81002005") and told, "the tag is not in its place")
    receiver.await_frames(has(b"to another"))
    for text in (b"to a third", b"dropped"):
        harness.expect(not receiver.saw(has(text)), f"received: {text}")
    ends.await_counter(1, "raw_qp_dropped_frames", lambda frames: frames == 1)


def small():
    ends = Link()
    receiver = Receiver(ends, 1, "50", "udp:7000")
    send(ends, 0, frame(ends.macs[1], 7000, b"x" * 100), frame(ends.macs[1], 7000, b"fits"))
    receiver.await_frames(has(b"fits"))
    harness.expect(receiver.lines[0][0] == "local length error", f"{receiver.lines}")


def defaults():
    """Default rules get what others leave."""
    ends = Link()
    everything, groups = Receiver(ends, 1, "all"), Receiver(ends, 1, "multicast")
    one = Receiver(ends, 1, "udp:7000")
    send(ends, 0, frame(ends.macs[1], 7000, b"by rule"), frame("01:00:5e:01:02:03", 7001, b"to a group"),
         frame(ends.macs[1], 7001, b"the last"))
    everything.await_frames(has(b"the last"))
    groups.await_frames(has(b"to a group"))
    one.await_frames(has(b"by rule"))
    harness.expect(everything.saw(has(b"to a group")), "all: groups, too")
    harness.expect(not groups.saw(has(b"the last")), "multicast: nothing else")
    # Each process has rules of its own: another one's do not take frames away.
    harness.expect(everything.saw(has(b"by rule")), "another process's rule")


def sniffer():
    """A sniffer sees both directions and RoCE; other rules leave RoCE alone."""
    ends = Link()
    sniffing, everything = Receiver(ends, 1, "sniffer"), Receiver(ends, 1, "all")
    talk(ends, 7009, b"nobody listens")
    answer = lambda data: data[12:14] == b"\x08\0" and data[23] == 1 and data[34] == 3  # port unreachable
    for receiver in (sniffing, everything):
        receiver.await_frames(lambda data: b"nobody listens" in data and not answer(data))
    sniffing.await_frames(answer)
    harness.expect(not everything.saw(answer), "what this host sends is not received")
    port = harness.free_port()
    words = lambda end: ["ibv_rc_pingpong", "-d", DEVICE, "-g", "1", "-n", "50", "-p", str(port)]
    harness.run_pair(ends.urxe(0, words(0)), ends.urxe(1, [*words(1), "10.0.0.1"]), port)
    roce = lambda data: data[12:14] == b"\x08\0" and data[23] == 17 and data[36:38] == b"\x12\xb7"
    sniffing.await_frames(roce, 50)
    harness.expect(not everything.saw(roce), "RoCE packets of the device")


def refused():
    """Without the capability, and on the loopback interface."""
    if not harness.is_root():
        harness.skip("needs root, to give up a capability")
    harness.two_hosts()
    conformance = [harness.binary("urxe_conformance"), "--device", DEVICE,
                   "--gtest_filter=RawPacketRefused.*"]
    output = Process(["setpriv", "--bounding-set=-net_raw", "--inh-caps=-net_raw", "--",
                      *harness.urxe_run(conformance)]).expect_success()
    harness.expect("[  PASSED  ] 1 test" in output and "CAP_NET_RAW. What to do" in output, output)
    lo = ["--device", "lo"]
    told = Process(harness.urxe_run(["ibv_devinfo", "-v"], lo)).expect_success()
    harness.expect("RAW_IP_CSUM" not in told and re.search(r"max_raw_ethy_qp:\s+0", told), told)
    process = Process(harness.urxe_run([harness.binary("urxe_raw_frames"), "urxe_lo", "send", "00"], lo))
    process.wait()
    harness.expect("create the queue pair: Operation not supported" in process.output, process.output)


def conformance():
    ends = Link()
    output = Process(ends.urxe(0, [harness.binary("urxe_conformance"), "--device", DEVICE,
                                   "--gtest_filter=RawPacket.*"])).expect_success()
    print(output)
    harness.expect("SKIPPED" not in output and "[  PASSED  ]" in output, output)


CASES = {case.__name__: case for case in (perftest, sockets, segments, sending, rules, small, defaults, sniffer, refused,
                                          conformance)}


def test():
    CASES[sys.argv[1]]()


harness.main(test)
