# SPDX-License-Identifier: BSD-2-Clause
"""Captures made by hand: RoCEv2 packets over IPv4 in a pcap file (link type raw IP), with right ICRCs."""

import struct
import zlib

LINKTYPE_RAW = 101
SEND_ONLY, ACKNOWLEDGE = 0x04, 0x11
ACK_SYNDROME, SEQUENCE_NAK, RNR_NAK, INVALID_REQUEST = 0x1f, 0x60, 0x21, 0x61


def bth(opcode, dest_qp, psn, ask=True):
    return struct.pack(">BBHII", opcode, 0x40, 0xffff, dest_qp, (int(ask) << 31) | (psn & 0xffffff))


def aeth(syndrome, msn):
    return struct.pack(">I", (syndrome << 24) | (msn & 0xffffff))


def packet(source, destination, body):
    """An IPv4 packet; `body` is what follows the UDP header, without the ICRC."""
    udp_bytes = 8 + len(body) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + udp_bytes, 0, 0x4000, 64, 17, 0, source, destination)
    udp = struct.pack(">HHHH", 0xc000, 4791, udp_bytes, 0)
    masked_ip = ip[:1] + b"\xff" + ip[2:8] + b"\xff" + ip[9:10] + b"\xff\xff" + ip[12:]
    masked = b"\xff" * 8 + masked_ip + udp[:6] + b"\xff\xff" + body[:4] + b"\xff" + body[5:]
    return ip + udp + body + struct.pack("<I", zlib.crc32(masked))


class Capture:
    """Writes frames to a file that is open for bytes. Times are in nanoseconds and go on by `step`."""

    def __init__(self, file, step=1000):
        self._file = file
        self._step = step
        self.now = 1_700_000_000_000_000_000
        self.frames = 0
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, LINKTYPE_RAW))

    def add(self, frame):
        self.now += self._step
        self.frames += 1
        self._file.write(struct.pack("<IIII", self.now // 10**9, self.now % 10**9, len(frame), len(frame)) + frame)


class Connection:
    """A requester that SENDs and a responder, at addresses of TEST-NET-1 that follow from `number`."""

    def __init__(self, capture, number):
        self._capture = capture
        self._ends = (bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2 + number // 200)))
        self._qpns = (0x1000 + number, 0x2000 + number)
        self.psn = (0xfffff0 + number) & 0xffffff
        self._msn = 0

    def send(self, psn, payload=b"x" * 64):
        self._capture.add(packet(*self._ends, bth(SEND_ONLY, self._qpns[1], psn) + payload))

    def respond(self, psn, syndrome=ACK_SYNDROME):
        self._capture.add(packet(*reversed(self._ends), bth(ACKNOWLEDGE, self._qpns[0], psn, False) + aeth(syndrome, self._msn)))

    def exchange(self):
        """A SEND and its ACK."""
        self.send(self.psn)
        self._msn += 1
        self.respond(self.psn)
        self.psn += 1

    def lose(self):
        """A SEND that is lost before the capture, a NAK for it, and both packets again."""
        self.send(self.psn + 1)
        self.respond(self.psn, SEQUENCE_NAK)
        self.send(self.psn)
        self.send(self.psn + 1)
        self._msn += 2
        self.respond(self.psn + 1)
        self.psn += 2

    def wait_for_receive(self, ns=2_000_000):
        """A SEND without a receive, which is sent again after the time that the RNR NAK names."""
        self.send(self.psn)
        self.respond(self.psn, RNR_NAK)
        self._capture.now += ns
        self.exchange()

    def fail(self):
        self.send(self.psn)
        self.respond(self.psn, INVALID_REQUEST)
        self.psn += 1
