#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The DPDK engine with a neighbour that tells its link address late: the first message of a UC queue pair is not lost, nor
the first datagrams to an address handle.

usage: dpdk_late_neighbour.py uc|ud 4|6    of IP; the neighbour is this script, at the other end of a veth
"""

import ipaddress
import os
import re
import socket
import subprocess
import sys
import threading

import harness
from harness import Process

PYTHON = "/usr/bin/python3"  # the one that pyverbs is for
OURS, THEIRS = ("10.44.0.1", "fd00:44::1"), ("10.44.0.2", "fd00:44::2")
PACKETS, FIRST_PSN = 400, 0xffff80
REQUEST_ANSWERED = 3  # of the requests for the link address, the first one that is answered

SENDER = f"""
import signal
import sys
import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
service, destination, index = sys.argv[1:]
context = Context(name="urxe_af_packet0")
domain, queue = PD(context), CQ(context, {PACKETS})
memory = MR(domain, {PACKETS} * 1024, e.IBV_ACCESS_LOCAL_WRITE)
cap = QPCap(max_send_wr={PACKETS}, max_recv_wr=4)
pair = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_UC if service == "uc" else e.IBV_QPT_UD, scq=queue, rcq=queue, cap=cap))
path = QPAttr(port_num=1, path_mtu=e.IBV_MTU_1024)
path.sq_psn = {FIRST_PSN}
address = AHAttr(gr=GlobalRoute(dgid=GID(destination), sgid_index=int(index)), is_global=1, port_num=1)
if service == "uc":
    path.dest_qp_num, path.ah_attr = 17, address
    pair.to_rts(path)
    pair.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(memory.buf, {PACKETS} * 1024, memory.lkey)]))
    left = 1
else:
    path.qkey = 1
    pair.to_rts(path)
    handle = AH(domain, attr=address)
    for i in range({PACKETS}):
        datagram = SendWR(opcode=e.IBV_WR_SEND, num_sge=1, sg=[SGE(memory.buf, 1024, memory.lkey)])
        datagram.set_wr_ud(handle, 17, 1)
        pair.post_send(datagram)
    left = {PACKETS}
while left != 0:
    left -= queue.poll()[0]
print("sent", flush=True)
signal.pause()
"""


def internet_checksum(data):
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return (~total & 0xffff).to_bytes(2, "big")


class Neighbour(threading.Thread):
    """Receives what comes at the other end of the link."""

    def __init__(self, interface, version):
        super().__init__(daemon=True)
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self._socket.bind((interface, 0))
        self._mac = self._socket.getsockname()[4]
        self._requests, self.psns = 0, []
        self._take = self._take_ipv4 if version == 4 else self._take_ipv6

    def run(self):
        while True:
            frame, origin = self._socket.recvfrom(65536)
            if origin[2] != socket.PACKET_OUTGOING:
                self._take(frame)

    def _is_answered(self):
        self._requests += 1
        return self._requests >= REQUEST_ANSWERED

    def _take_ipv4(self, frame):
        theirs = socket.inet_aton(THEIRS[0])
        if frame[12:14] == b"\x08\x06" and frame[38:42] == theirs and self._is_answered():
            asking = frame[22:32]
            self._socket.send(frame[6:12] + self._mac + frame[12:20] + b"\0\2" + self._mac + theirs + asking)
        if frame[12:14] == b"\x08\0" and frame[30:34] == theirs and frame[36:38] == b"\x12\xb7":
            self.psns.append(int.from_bytes(frame[51:54], "big"))

    def _take_ipv6(self, frame):
        theirs = socket.inet_pton(socket.AF_INET6, THEIRS[1])
        if frame[12:14] != b"\x86\xdd":
            return
        if frame[20] == 58 and frame[54] == 135 and frame[62:78] == theirs and self._is_answered():
            asking = frame[22:38]
            message = b"\x60\0\0\0" + theirs + b"\2\1" + self._mac  # solicited, with the target's link address
            pseudo = theirs + asking + (len(message) + 4).to_bytes(4, "big") + b"\0\0\0\x3a"
            total = internet_checksum(pseudo + b"\x88\0\0\0" + message)
            header = b"\x60\0\0\0" + (len(message) + 4).to_bytes(2, "big") + b"\x3a\xff" + theirs + asking
            self._socket.send(frame[6:12] + self._mac + b"\x86\xdd" + header + b"\x88\0" + total + message)
        if frame[20] == 17 and frame[38:54] == theirs and frame[56:58] == b"\x12\xb7":
            self.psns.append(int.from_bytes(frame[71:74], "big"))


def need():
    harness.need_namespaces()
    if not os.path.exists(os.path.join(harness.build_directory(), "lib", "liburxe-dpdk.so")):
        harness.skip("there is no DPDK engine: libdpdk-dev was not installed when urxe was built")
    if subprocess.run([PYTHON, "-c", "import pyverbs"], capture_output=True, check=False).returncode != 0:
        harness.skip("python3-pyverbs is not installed")


def test():
    need()
    service, version = sys.argv[1], int(sys.argv[2])
    subprocess.run("ip link add urxa type veth peer name urxb && ip link set urxa up && ip link set urxb up", shell=True,
                   check=True)
    neighbour = Neighbour("urxb", version)
    neighbour.start()
    options = ["--engine", "dpdk", "--dpdk-args",
               "--vdev=net_af_packet0,iface=urxa,framesz=8192,blocksz=65536,framecnt=512"
               f" -- address={OURS[0]}/24,{OURS[1]}/64 mtu=1500"]
    address, index = (f"::ffff:{THEIRS[0]}", "0") if version == 4 else (THEIRS[1], "1")
    destination = ":".join(re.findall("....", ipaddress.IPv6Address(address).packed.hex()))
    sender = Process(harness.urxe_run([PYTHON, "-B", "-c", SENDER, service, destination, index], options))
    harness.wait_until(lambda: "sent" in sender.output or not sender.running(), "the message's completion")
    harness.expect("sent" in sender.output, sender.output)
    sent = [(FIRST_PSN + i) % (1 << 24) for i in range(PACKETS)]
    harness.wait_until(lambda: sent[-1] in neighbour.psns, "the last packet")
    sender.kill()
    lost = len(set(sent) - set(neighbour.psns))
    harness.expect(neighbour.psns == sent, f"{lost} of {PACKETS} packets are lost")


harness.main(test)
