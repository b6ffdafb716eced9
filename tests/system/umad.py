#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""umad.py CASE: infiniband-diags and other programs that exchange management datagrams by umad nodes."""

import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading

import harness
from harness import Process

LO = ["--device", "lo"]
PATIENCE_MS = harness.PATIENCE * 1000  # ibping and perfquery wait so long for an answer.
COUNTERS = "/sys/class/infiniband/{}/ports/1/counters"
# The names of the counters in perfquery's output, and those of their files.
BASIC = {
    "PortXmitData": "port_xmit_data", "PortRcvData": "port_rcv_data", "PortXmitPkts": "port_xmit_packets",
    "PortRcvPkts": "port_rcv_packets", "SymbolErrorCounter": "symbol_error", "LinkDownedCounter": "link_downed",
    "PortXmitDiscards": "port_xmit_discards", "PortRcvErrors": "port_rcv_errors", "PortXmitWait": "port_xmit_wait"}
EXTENDED = BASIC | {
    "PortUnicastXmitPkts": "unicast_xmit_packets", "PortUnicastRcvPkts": "unicast_rcv_packets",
    "PortMulticastXmitPkts": "multicast_xmit_packets", "PortMulticastRcvPkts": "multicast_rcv_packets",
    "VL15Dropped": "VL15_dropped"}


def run(words, options=(), enter=lambda words: words):
    return subprocess.run(enter(harness.urxe_run(words, options=list(options))), text=True, capture_output=True,
                          check=False, env=harness.environment(), timeout=harness.PATIENCE)


def output_of(words, options=(), enter=lambda words: words):
    done = run(words, options, enter)
    harness.expect(done.returncode == 0 and not done.stderr, done)
    return done.stdout


def some_traffic():
    port = str(harness.free_port())
    words = ["ibv_rc_pingpong", "-g", "0", "-p", port, "-n", "50"]
    harness.run_pair(harness.urxe_run(words, LO), harness.urxe_run([*words, "127.0.0.1"], LO), int(port))


def counters():
    """perfquery prints what the files of sysfs say."""
    harness.need_programs("perfquery", "ibv_rc_pingpong")
    harness.isolate()
    some_traffic()
    listing = f"cd {COUNTERS.format('urxe_lo')}; for name in *; do echo $name $(cat $name); done"
    files = {name: int(value) for name, value in map(str.split, output_of(["sh", "-c", listing], LO).splitlines())}
    harness.expect(files["port_xmit_packets"] > 0, files)
    for words in ([], ["-x"], ["-C", "urxe_lo"], ["-x", "-C", "urxe_lo", "-P", "1"], ["-a"], ["-x", "-l"]):
        shown = output_of(["perfquery", *words], LO)
        values = {name: int(value) for name, value in re.findall(r"^(\w+):\.*(\d+)$", shown, re.MULTILINE)}
        for name, file in (EXTENDED if "-x" in words else BASIC).items():
            harness.expect(values[name] == files[file], f"{words} {name}: {values[name]} is not {files[file]}\n{shown}")


def ports():
    """ibstat and ibstatus know the port."""
    harness.need_programs("ibstat", "ibstatus")
    harness.isolate()
    shown = output_of(["ibstat"], LO)
    for line in ("CA 'urxe_lo'", "Number of ports: 1", "State: Active", "Physical state: LinkUp", "Link layer: Ethernet",
                 "Port GUID: 0x0000ffff7f000001"):
        harness.expect(line in shown, f"no {line}: {shown}")
    harness.expect("0x0000ffff7f000001" in output_of(["ibstat", "-p"], LO), "the port's GUID alone")
    shown = output_of(["ibstatus"], LO)
    harness.expect("Infiniband device 'urxe_lo' port 1 status" in shown and "4: ACTIVE" in shown, shown)


def refused():
    """What a RoCE port cannot do is refused at once, and by a sentence."""
    harness.need_programs("ibaddr", "perfquery", "smpquery", "ibping")
    harness.isolate()
    for words, sentence in ((["ibaddr"], "has no subnet management"), (["smpquery", "-D", "nodeinfo", "0"], "(SMPs)"),
                            (["perfquery", "-R"], "cannot be reset"), (["perfquery", "-x", "-R"], "cannot be reset"),
                            (["ibping", "-f", "-c", "1", "5"], "LID 5 is nobody's")):
        done = run(words, LO)
        harness.expect(sum(line.startswith("urxe: ") and sentence in line for line in done.stderr.splitlines()) == 1,
                       f"{words}: {done}")
        harness.expect(done.returncode != 0 or "0 received" in done.stdout, f"{words}: {done}")
    done = run(["ibaddr"], LO)
    harness.expect("Operation not supported" in done.stderr, done)


def guid_of(host=None):
    words = ["ibstat", "-p"]
    shown = output_of(words, [] if host else LO, host.command if host else lambda words: words)
    guid, = re.findall("0x[0-9a-f]{16}", shown)
    return guid


def ping(words, options=(), count=10, timeout_ms=PATIENCE_MS):
    """Whether all pings were answered."""
    done = run(["ibping", "-f", "-c", str(count), "-t", str(timeout_ms), *words], options)
    harness.expect(done.returncode == 0 and f"{count} packets transmitted" in done.stdout, done)
    return f" {count} received" in done.stdout


def wait_for_server(words, options=()):
    harness.wait_until(lambda: ping(words, options, 1, 50), "the answers of ibping -S")


def ping_one_host():
    """Two programs of one host; a third that serves the same is refused, until the first is gone."""
    harness.need_programs("ibping", "ibstat")
    harness.isolate()
    to_port = ["-s", "1", "-G", guid_of()]
    serve = harness.urxe_run(["ibping", "-S"], LO)
    server = Process(serve)
    wait_for_server(to_port, LO)
    harness.expect(ping(to_port, LO), "an answer was lost")
    other = Process(serve)
    harness.expect(other.wait() != 0 and "can't serve class" in other.output, other.output)
    server.kill(signal.SIGKILL)
    harness.expect(not ping(to_port, LO, 1, 50), "a dead server answers")
    Process(serve)
    wait_for_server(to_port, LO)


def ping_two_hosts():
    """By the port GUID, with real datagrams to QP1; the server's host tells its counters, too."""
    harness.need_programs("ibping", "ibstat", "perfquery", "tshark")
    here, there = harness.two_hosts()
    second = "10.0.0.77"
    subprocess.run(there.command(["ip", "addr", "add", f"{second}/24", "dev", there.interface]), check=True)
    Process(there.command(harness.urxe_run(["ibping", "-S"])))
    to_there = ["-s", "1", "-G", guid_of(there)]
    wait_for_server(to_there)
    ipv4 = ["-s", "1", "-G", f"0x0000ffff0a00000{there.ipv4[-1]}"]
    with tempfile.TemporaryDirectory() as scratch:
        capture = os.path.join(scratch, "ping.pcapng")
        harness.expect(ping(ipv4, ["--capture", capture]), "by the IPv4 address")
        expect_vendor_mads(capture, {here.ipv4, there.ipv4})
    harness.expect(ping(["-s", "1", "-G", "0x0000ffff0a00004d"]), f"the answer is not from {second}, which was asked")
    received = lambda: int(output_of(["cat", COUNTERS.format(there.device) + "/port_rcv_packets"], enter=there.command))
    before = received()
    shown = output_of(["perfquery", "-t", str(PATIENCE_MS), "-x", *to_there, "1"])
    value = int(re.search(r"^PortRcvPkts:\.*(\d+)$", shown, re.MULTILINE)[1])
    harness.expect(0 < before <= value <= received(), shown)


def expect_vendor_mads(capture, addresses):
    fields = ["ip.src", "infiniband.bth.destqp", "infiniband.deth.q_key", "infiniband.mad.mgmtclass",
              "infiniband.mad.method"]
    shown = subprocess.run(["tshark", "-r", capture, "-T", "fields", *(word for field in fields for word in ("-e", field))],
                           check=True, capture_output=True, text=True).stdout
    packets = [[int(value, 0) if "." not in value else value for value in line.split("\t")]
               for line in shown.splitlines() if line]
    harness.expect(len(packets) == 20 and {packet[0] for packet in packets} == addresses, shown)
    harness.expect({tuple(packet[1:4]) for packet in packets} == {(1, 0x80010000, 0x32)}, shown)
    harness.expect(sorted(packet[4] for packet in packets) == [1] * 10 + [0x81] * 10, shown)


# What follows runs under urxe.

REGISTER, UNREGISTER, ENABLE_PKEY, REGISTER2 = 0xC01C1B01, 0x40041B02, 0x1B03, 0xC0281B04
PING, OTHER_VENDOR = 0x001405, 0x777777
GET, GET_RESP = 0x01, 0x81
LOCALHOST = socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")


class Umad:
    """An open umad node."""

    def __init__(self, flags=os.O_NONBLOCK, pkey_index=True):
        node, = (name for name in os.listdir("/sys/class/infiniband_mad") if name.startswith("umad"))
        self.fd = os.open(f"/dev/infiniband/{node}", os.O_RDWR | flags)
        self.head = 64 if pkey_index else 56
        if pkey_index:
            fcntl.ioctl(self.fd, ENABLE_PKEY)

    def register(self, methods=(), oui=PING, management_class=0x32, version=1, qpn=1):
        mask = sum(1 << method for method in methods).to_bytes(16, "little")
        request = bytearray(struct.pack("=I16sBBB3sBx", 0, mask, qpn, management_class, version, oui.to_bytes(3, "big"), 0))
        fcntl.ioctl(self.fd, REGISTER, request)
        return struct.unpack_from("=I", request)[0]

    def register_rmpp(self, management_class, flags=0):
        """An agent that sends messages of several segments; with flags=1 (UMAD_USER_RMPP) it makes the segments itself."""
        oui = PING if 0x30 <= management_class <= 0x4F else 0
        fields = (0, 1, management_class, 1, 0, flags, bytes(16), oui, 1)
        request = bytearray(struct.pack("=IIBBHI16sIBxxx", *fields).ljust(40, b"\0"))
        fcntl.ioctl(self.fd, REGISTER2, request)
        return struct.unpack_from("=I", request)[0]

    def send(self, agent, mad, gid=LOCALHOST, timeout=0, retries=0):
        head = struct.pack("=5I", agent, 0, timeout, retries, 0) + struct.pack(
            ">IIHBBBBBB16sI", 1, 0x80010000, 0, 0, 0, gid is not None, 0, 0, 0, gid or bytes(16), 0)
        return os.write(self.fd, head.ljust(self.head, b"\0") + mad)

    def has_news(self, patience):
        return bool(select.select([self.fd], [], [], patience)[0])

    def receive(self, patience=harness.PATIENCE):
        """Agent, status, GID and MAD."""
        assert self.has_news(patience), "nothing has come"
        data = os.read(self.fd, self.head + 256)
        agent, status, _, _, length = struct.unpack_from("=5I", data)
        assert length == (0 if status else len(data)), (length, len(data))
        return agent, status, data[36:52], data[self.head:]

    def is_empty(self):
        try:
            os.read(self.fd, self.head + 256)
            return False
        except BlockingIOError:
            return not select.select([self.fd], [], [], 0)[0]


def mad_of(method=GET, transaction=1, oui=PING, management_class=0x32, text=b""):
    head = struct.pack(">BBBBHHQHHI", 1, management_class, 1, method, 0, 0, transaction, 0, 0, 0)
    return (head + bytes(13) + oui.to_bytes(3, "big") + text).ljust(256, b"\0")


def expect_errno(number, call, *arguments, **more):
    try:
        result = call(*arguments, **more)
    except OSError as failure:
        assert failure.errno == number, f"{failure} instead of {os.strerror(number)}"
    else:
        raise AssertionError(f"{result} instead of {os.strerror(number)}")


def rules_inside():
    """Numbers of agents, lengths and errors are Linux's."""
    umad = Umad()
    assert stat.S_ISCHR(os.fstat(umad.fd).st_mode)
    expect_errno(errno.EIO, umad.send, 0, mad_of())
    expect_errno(errno.EINVAL, umad.send, 32, mad_of())
    assert [umad.register(), umad.register()] == [0, 1]
    expect_errno(errno.EINVAL, fcntl.ioctl, umad.fd, ENABLE_PKEY)
    expect_errno(errno.ENOTTY, fcntl.ioctl, umad.fd, 0x1B05)
    fcntl.ioctl(umad.fd, UNREGISTER, struct.pack("=I", 0))
    expect_errno(errno.EINVAL, fcntl.ioctl, umad.fd, UNREGISTER, struct.pack("=I", 0))
    expect_errno(errno.EIO, umad.send, 0, mad_of())
    assert umad.register() == 0, "the lowest number that is free"
    for length in (0, 1, 35, 257):
        expect_errno(errno.EINVAL, umad.send, 0, mad_of()[:length].ljust(length, b"\0"))
    expect_errno(errno.EINVAL, os.write, umad.fd, b"short")
    for wrong in ({"qpn": 2}, {"management_class": 0x50}, {"oui": 0}, {"version": 0x83}):
        expect_errno(errno.EINVAL, umad.register, **wrong)
    for _ in range(30):
        umad.register()
    expect_errno(errno.ENOMEM, umad.register)
    assert umad.is_empty()
    flags = bytearray(struct.pack("=IIBBHI16sIBxxx", 0, 1, 0x32, 1, 0, 2, bytes(16), PING, 0).ljust(40, b"\0"))
    expect_errno(errno.EINVAL, fcntl.ioctl, umad.fd, REGISTER2, flags)
    assert struct.unpack_from("=I", flags, 12)[0] == 1, "the flags that are known"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.write(umad.fd, ctypes.c_void_p(8), 320) == -1 and ctypes.get_errno() == errno.EFAULT
    assert libc.ioctl(umad.fd, ctypes.c_ulong(REGISTER), ctypes.c_void_p(8)) == -1 and ctypes.get_errno() == errno.EFAULT


def sending_inside():
    """What cannot be sent, and what nobody answers."""
    umad = Umad()
    agent = umad.register()
    expect_errno(errno.EOPNOTSUPP, umad.send, agent, mad_of(management_class=0x81), None)
    expect_errno(errno.EHOSTUNREACH, umad.send, agent, mad_of(), None)
    expect_errno(errno.EINVAL, umad.send, agent, mad_of(), socket.inet_pton(socket.AF_INET6, "ff02::1"))
    expect_errno(errno.ENETUNREACH, umad.send, agent, mad_of(), socket.inet_pton(socket.AF_INET6, "fe80::1"))
    segment = lambda of: mad_of(management_class=of)[:26] + bytes([1]) + mad_of(management_class=of)[27:]
    for of in (0x03, 0x10, 0x12, 0x32):
        expect_errno(errno.EOPNOTSUPP, umad.send, umad.register_rmpp(of), segment(of))
        umad.send(umad.register_rmpp(of, flags=1), segment(of))
    umad.send(agent, segment(0x32))
    umad.send(agent, mad_of(transaction=7), timeout=20, retries=1)
    expect_errno(errno.EINVAL, umad.send, agent, mad_of(transaction=7), timeout=20)
    got, status, _, mad = umad.receive()
    assert (got, status, len(mad)) == (agent, errno.ETIMEDOUT, 24), (got, status, mad)
    assert transaction_of(mad) == 7, mad
    assert umad.is_empty()
    # umad_send(3): what was written comes back, with the status.
    head = struct.pack("=5I", agent, 0, 20, 0, 320) + struct.pack(
        ">IIHBBBBBB16sI", 1, 0x80010000, 0, 3, 2, 1, 0, 9, 0, LOCALHOST, 0x12345)
    assert os.write(umad.fd, head.ljust(umad.head, b"\0") + mad_of(transaction=8)) == 320
    assert umad.has_news(harness.PATIENCE)
    back = os.read(umad.fd, 400)
    assert back[:4] + back[8:len(head)] == head[:4] + head[8:], (back, head)
    assert struct.unpack_from("=I", back, 4)[0] == errno.ETIMEDOUT


def transaction_of(mad):
    """The half that is the program's."""
    return struct.unpack_from(">Q", mad, 8)[0] & 0xffffffff


def answer_one(server, number, text):
    got, status, gid, mad = server.receive()
    assert (got, status) == (number, 0), (got, status)
    transaction, = struct.unpack_from(">Q", mad, 8)
    server.send(got, mad_of(GET_RESP, transaction, text=text + mad[40:].rstrip(b"\0")), gid)


def exchange_inside():
    """Two agents of a file serve, others ask; by poll, by a blocking read, by a copy, and without P_Key indexes."""
    server, client = Umad(), Umad(pkey_index=False)
    first, second = server.register([GET]), server.register([GET], OTHER_VENDOR)
    expect_errno(errno.EINVAL, client.register, [GET])
    asker = client.register(oui=OTHER_VENDOR)
    for number, oui in ((second, OTHER_VENDOR), (first, PING)):
        client.send(asker, mad_of(oui=oui, text=b"who"), timeout=60000)
        answer_one(server, number, b"me ")
        got, status, gid, mad = client.receive()
        assert (got, status, gid, mad[40:].rstrip(b"\0")) == (asker, 0, LOCALHOST, b"me who"), mad
    waiting = Umad(flags=0)
    blocked = waiting.register(oui=OTHER_VENDOR)
    answers = []
    reader = threading.Thread(target=lambda: answers.append(os.read(waiting.fd, 320)))
    reader.start()
    os.write(os.dup(waiting.fd), b"".join([struct.pack("=5I", blocked, 0, 60000, 0, 0), struct.pack(
        ">IIHBBBBBB16sI", 1, 0, 0, 0, 0, 1, 0, 0, 0, LOCALHOST, 0), bytes(8), mad_of(oui=OTHER_VENDOR)]))
    poller = select.epoll()
    poller.register(server.fd, select.EPOLLIN | select.EPOLLET)
    assert poller.poll(harness.PATIENCE) == [(server.fd, select.EPOLLIN)]
    expect_errno(errno.EINVAL, os.read, server.fd, 319)
    answer_one(server, second, b"again")
    reader.join(harness.PATIENCE)
    assert answers and answers[0][64 + 40:].startswith(b"again"), answers
    fcntl.ioctl(server.fd, UNREGISTER, struct.pack("=I", first))
    client.register([GET])
    os.close(server.fd)
    harness.wait_until(lambda: takes_over(client, OTHER_VENDOR), "the end of a closed file's agents")


def takes_over(umad, oui):
    try:
        umad.register([GET], oui)
        return True
    except OSError as failure:
        assert failure.errno == errno.EINVAL, failure
        return False


# Between two hosts, and between urxe and Linux. The arguments are the peer's GID, of the kind of GID 0 here.

def serve_inside():
    server = Umad()
    number = server.register([GET])
    print("serving", flush=True)
    while True:
        answer_one(server, number, b"to ")


def ask_inside():
    client = Umad()
    asker = client.register()
    peer = socket.inet_pton(socket.AF_INET6, sys.argv[2])
    for turn in range(5):
        client.send(asker, mad_of(transaction=turn, text=b"turn %d" % turn), peer, timeout=harness.PATIENCE * 1000)
        got, status, gid, mad = client.receive()
        assert (got, status, gid, transaction_of(mad)) == (asker, 0, peer, turn), (got, status, gid, mad)
        assert mad[40:].rstrip(b"\0") == b"to turn %d" % turn, mad


def ask_nobody_inside():
    client = Umad()
    asker = client.register(oui=OTHER_VENDOR)
    peer = socket.inet_pton(socket.AF_INET6, sys.argv[2])
    client.send(asker, mad_of(oui=OTHER_VENDOR), peer, timeout=harness.PATIENCE * 1000)
    got, status, gid, mad = client.receive()
    unsupported = 0x0c
    assert (got, status, gid, mad[3], mad[5]) == (asker, 0, peer, GET_RESP, unsupported), (got, status, gid, mad)


def unread_inside():
    """A program that does not read loses its own datagrams, and others lose none."""
    lazy, busy, client = Umad(), Umad(), Umad()
    lazy.register([GET])
    number = busy.register([GET], OTHER_VENDOR)
    asker = client.register()
    for transaction in range(400):
        client.send(asker, mad_of(transaction=transaction))
        client.send(asker, mad_of(transaction=transaction, oui=OTHER_VENDOR))
        got, _, _, mad = busy.receive()
        assert got == number and transaction_of(mad) == transaction, mad
    first = [transaction_of(lazy.receive()[3]) for _ in range(64)]
    assert first == list(range(64)), first
    # There is room only when the thread that serves the files has seen it: what comes before is lost as well.
    last, sent = 63, 9999
    while last < 9999:
        if not lazy.has_news(0.2):
            client.send(asker, mad_of(transaction=sent))
            sent += 1
            continue
        before, last = last, transaction_of(lazy.receive()[3])
        assert last > before, "those between were lost"
    assert before < 300, before


def fork_inside():
    """A child has the file, but its parent alone uses it."""
    server, client = Umad(), Umad()
    number, asker = server.register([GET]), client.register()
    child = os.fork()
    if child == 0:
        expect_errno(errno.ENODEV, client.send, asker, mad_of())
        expect_errno(errno.ENODEV, client.register)
        os.close(server.fd)
        own = Umad()
        own.send(own.register(), mad_of(text=b"child"), timeout=60000)
        os._exit(0 if own.receive()[3][40:].startswith(b"to child") else 1)
    answer_one(server, number, b"to ")
    assert os.waitpid(child, 0)[1] == 0
    client.send(asker, mad_of(), timeout=60000)
    answer_one(server, number, b"parent")
    assert client.receive()[3][40:].startswith(b"parent")


def library_inside():
    """libibumad's calls, with a GRH."""
    umad = ctypes.CDLL("libibumad.so.3")
    umad.umad_get_mad.restype = ctypes.c_void_p
    assert umad.umad_init() == 0
    fds = [umad.umad_open_port(b"urxe_lo", 1) for _ in range(2)]
    oui = (ctypes.c_uint8 * 3)(0, 0x14, 0x05)
    mask = (ctypes.c_long * 2)(1 << GET, 0)
    server = umad.umad_register_oui(fds[0], 0x32, 0, oui, mask)
    client = umad.umad_register_oui(fds[1], 0x32, 0, oui, None)
    assert server >= 0 and client >= 0, (server, client)
    buffer = ctypes.create_string_buffer(umad.umad_size() + 256)
    place = ctypes.c_void_p(umad.umad_get_mad(buffer))
    ctypes.memmove(place, mad_of(text=b"hello"), 256)
    umad.umad_set_addr(buffer, 0, 1, 0, ctypes.c_int(0x80010000 - (1 << 32)))
    address = struct.pack("=IIHBBBBBB16sIH6x", 0, 0, 0, 0, 0, 1, 0, 64, 0, LOCALHOST, 0, 0)
    umad.umad_set_grh(buffer, address)
    assert umad.umad_send(fds[1], client, buffer, 256, 60000, 0) == 0
    length = ctypes.c_int(256)
    assert umad.umad_recv(fds[0], buffer, ctypes.byref(length), 60000) == server
    mad = ctypes.string_at(place, 256)
    assert mad[40:45] == b"hello", mad
    ctypes.memmove(place, mad[:3] + bytes([GET_RESP]) + mad[4:], 256)
    assert umad.umad_send(fds[0], server, buffer, 256, 0, 0) == 0, "the answer goes where the request came from"
    assert umad.umad_recv(fds[1], buffer, ctypes.byref(length), 60000) == client
    assert umad.umad_status(buffer) == 0 and ctypes.string_at(place, 256)[40:45] == b"hello"


GONE = "urxv"


def watch_the_end():
    """As Linux tells the programs of a device that goes."""
    waiting, other, unused = Umad(flags=0), Umad(), Umad()
    number, asker = waiting.register([GET]), other.register()
    read = []

    def wait():
        try:
            read.append(os.read(waiting.fd, 400))
        except OSError as failure:
            read.append(failure.errno)

    reader = threading.Thread(target=wait)
    reader.start()
    print("ready", flush=True)
    reader.join(harness.PATIENCE)
    assert read == [errno.EIO], read
    assert other.has_news(harness.PATIENCE)
    for umad, agent in ((waiting, number), (other, asker)):
        expect_errno(errno.EIO, os.read, umad.fd, 400)
        expect_errno(errno.EIO, umad.send, agent, mad_of())
        expect_errno(errno.EPIPE, umad.register)
        expect_errno(errno.EINVAL, fcntl.ioctl, umad.fd, UNREGISTER, struct.pack("=I", agent))
        os.close(umad.fd)
    expect_errno(errno.EIO, os.read, unused.fd, 400)
    fresh = Umad()
    expect_errno(errno.ENODEV, fresh.register, [GET])


def gone():
    """The interface of the device goes."""
    harness.need_namespaces()
    subprocess.run(["ip", "link", "add", GONE, "type", "veth", "peer", "name", GONE + "b"], check=True)
    for words in (["addr", "add", "10.9.0.1/24", "dev", GONE], ["link", "set", GONE, "up"], ["link", "set", GONE + "b", "up"]):
        subprocess.run(["ip", *words], check=True)
    words = [sys.executable, "-B", __file__, "watch_the_end"]
    watching = Process(harness.urxe_run(words, ["--device", f"urxe_v={GONE}"]))
    harness.wait_until(lambda: "ready" in watching.output or not watching.running(), "the program to wait")
    subprocess.run(["ip", "link", "del", GONE], check=True)
    watching.expect_success()


def inside(function):
    def outside():
        harness.isolate()
        output = Process(harness.urxe_run([sys.executable, "-B", __file__, function.__name__], LO)).expect_success()
        print(output)
    return outside


INSIDE = {f.__name__: f for f in (rules_inside, sending_inside, exchange_inside, unread_inside, fork_inside,
                                  library_inside)}
ENDS = {f.__name__: f for f in (serve_inside, ask_inside, ask_nobody_inside, watch_the_end)}
CASES = {f.__name__: f for f in (counters, ports, refused, ping_one_host, ping_two_hosts, gone)}
CASES |= {name.removesuffix("_inside"): inside(f) for name, f in INSIDE.items()}

if sys.argv[1] in INSIDE | ENDS:
    (INSIDE | ENDS)[sys.argv[1]]()
else:
    harness.main(CASES[sys.argv[1]])
