# SPDX-License-Identifier: BSD-2-Clause
"""Packets to QP1 (the general services interface), made and sent by hand: what a stranger on the network can do."""

import contextlib
import select
import socket
import struct
import zlib

ROCE_PORT = 4791
BTH_DETH = 20  # Bytes before the MAD.
MAD = 256
COMMUNICATION_MANAGEMENT, SEND = 0x07, 0x03
REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR = (
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a)
ATTRIBUTES = range(REQ, APR + 1)


def ipv4_icrc(source, source_port, destination, payload, flow=b""):
    """The ICRC of a packet that an unconnected socket with "don't fragment" sends: its identification is 0 (IBTA vol. 1,
    9.4.1 and annex A17: what may change on the way counts as ones)."""
    length = len(payload) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, 20 + 8 + length, 0, 0x4000, 0xff, 17, 0xffff,
                     socket.inet_aton(source), socket.inet_aton(destination))
    udp = struct.pack(">HHHH", source_port, ROCE_PORT, 8 + length, 0xffff)
    masked = bytearray(payload)
    if len(masked) > 4:
        masked[4] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + ip + udp + bytes(masked)) & 0xffffffff)


def header(transaction, attribute, **changed):
    fields = {"base": 1, "class": COMMUNICATION_MANAGEMENT, "version": 2, "method": SEND, "status": 0, "modifier": 0}
    fields.update(changed)
    return struct.pack(">BBBBHHQHHI", fields["base"], fields["class"], fields["version"], fields["method"],
                       fields["status"], 0, transaction, attribute, 0, fields["modifier"])


def to_qp1(mad, psn=0):
    """A UD SEND Only packet, without its ICRC."""
    bth = struct.pack(">BBHII", 0x64, 0x40, 0xffff, 1, psn)
    return bth + struct.pack(">II", 0x80010000, 1) + mad


def message(attribute, body, transaction=1, **changed):
    return to_qp1(header(transaction, attribute, **changed) + body.ljust(MAD - 24, b"\0"))


class Sender:
    """A plain UDP socket of an address's."""

    def __init__(self, source, destination):
        self.source, self.destination = source, destination
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: IP_PMTUDISC_DO
        self._socket.bind((source, 0))
        self._port = self._socket.getsockname()[1]
        self.sent = 0

    def send(self, payload):
        self.send_raw(payload + ipv4_icrc(self.source, self._port, self.destination, payload))

    def send_raw(self, payload):
        # Answers that come back to nobody's port are reported here, and change nothing.
        with contextlib.suppress(ConnectionRefusedError):
            self._socket.sendto(payload, (self.destination, ROCE_PORT))
        self.sent += 1


class Recorder:
    """What passes the loopback interface to QP1; each packet once."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self._socket.bind(("lo", 0))

    def close(self):
        self._socket.close()

    def packets(self):
        """What has come since the last call: (source, destination, packet without its ICRC)."""
        found = []
        while select.select([self._socket], [], [], 0)[0]:
            data, (_, _, kind, _, _) = self._socket.recvfrom(65536)
            if kind == socket.PACKET_OUTGOING or len(data) < 28 + BTH_DETH + MAD or data[9] != 17:
                continue
            source, destination = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
            if struct.unpack(">H", data[22:24])[0] != ROCE_PORT or data[28 + 5:28 + 8] != b"\0\0\1":
                continue
            # Several of one size may come as one (segmentation offload).
            size = BTH_DETH + MAD + 4
            for at in range(28, len(data) - size + 1, size):
                found.append((source, destination, data[at:at + size - 4]))
        return found


def attribute_of(packet):
    return struct.unpack(">H", packet[BTH_DETH + 16:BTH_DETH + 18])[0]


def body_of(packet):
    return packet[BTH_DETH + 24:]


def ids_of(packet):
    """Local and remote communication id, of the sender's view."""
    return struct.unpack(">II", body_of(packet)[:8])


def changed(packet, *changes):
    """The packet with bytes replaced: (offset in the MAD, bytes)."""
    data = bytearray(packet)
    for offset, replacement in changes:
        data[BTH_DETH + offset:BTH_DETH + offset + len(replacement)] = replacement
    return bytes(data)
