#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iproute2's `rdma`, which asks by RDMA netlink, sees urxe's devices.

usage: rdma.py CASE [FOLDER]      FOLDER: the `rdma` is that of another release of Debian, which fetch_release.py has fetched
"""

import json
import os
import random
import re
import shlex
import socket
import struct
import subprocess
import sys

import harness
from harness import Process
from other_release import Release

NETLINK_RDMA = 20
SYSFS = "/sys/class/infiniband"
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
GET, RES_QP_GET = 5 << 10 | 1, 5 << 10 | 10
DEV_INDEX, DEV_NAME = 1, 2
LO = ["--device", "lo"]
# The libraries of another release do not find their drivers in the folder.
MISSING_DRIVER = re.compile(r"libibverbs: Warning: couldn't load driver .*\n")


def run(words, options=(), **more):
    return subprocess.run(harness.urxe_run(words, options=list(options)), text=True, capture_output=True, check=False,
                          env=harness.environment(), timeout=harness.PATIENCE, **more)


def program():
    """The command, whose last word is the program."""
    return Release(sys.argv[2]).words("rdma") if len(sys.argv) > 2 else ["rdma"]


def try_rdma(*words, options=()):
    done = run([*program(), *words], options)
    done.stderr = MISSING_DRIVER.sub("", done.stderr)
    return done


def rdma(*words, options=()):
    done = try_rdma(*words, options=options)
    harness.expect(done.returncode == 0 and not done.stderr, f"rdma {words}: {done}")
    return done.stdout


def rdma_json(*words, options=()):
    text = rdma("-j", *words, options=options)
    return json.loads(text) if text.strip() else []


def sysfs(device, path, options=()):
    done = run(["cat", f"{SYSFS}/{device}/{path}"], options)
    harness.expect(done.returncode == 0, done)
    return done.stdout.strip()


def isolate_with_two():
    """A namespace with a device beside the loopback interface's. Returns the options that present both."""
    harness.need_namespaces()
    subprocess.run(["ip", "link", "add", "urxa", "type", "veth", "peer", "name", "urxb"], check=True)
    for name in ("urxa", "urxb"):
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    subprocess.run(["ip", "addr", "add", "10.99.0.1/24", "dev", "urxa"], check=True)
    return ["--device", "lo", "--device", "second=urxa"]


def devices():
    options = isolate_with_two()
    listed = {one["ifname"]: one for one in rdma_json("dev", options=options)}
    harness.expect(sorted(listed) == ["second", "urxe_lo"], listed)
    for name, one in listed.items():
        harness.expect(one["node_guid"] == sysfs(name, "node_guid", options), one)
        harness.expect(one["sys_image_guid"] == sysfs(name, "sys_image_guid", options), one)
        harness.expect(one["fw"] == sysfs(name, "fw_ver", options) and one["node_type"] == "ca", one)
    harness.expect(len({one["ifindex"] for one in listed.values()}) == 2, listed)
    alone = rdma_json("dev", "show", "second", options=options)
    harness.expect([one["ifname"] for one in alone] == ["second"], alone)
    detailed = rdma("-d", "dev", "show", "urxe_lo", options=options)
    harness.expect("AUTO_PATH_MIG" in detailed and "adaptive-moderation off" in detailed, detailed)
    harness.expect("netns" in rdma("system", options=options), "the system")


def links():
    options = isolate_with_two()
    listed = {one["ifname"]: one for one in rdma_json("link", options=options)}
    harness.expect(sorted(listed) == ["second", "urxe_lo"], listed)
    for name, interface in (("urxe_lo", "lo"), ("second", "urxa")):
        one = listed[name]
        harness.expect(one["port"] == 1 and one["netdev"] == interface, one)
        harness.expect(one["netdev_index"] == socket.if_nametoindex(interface), one)
        harness.expect(one["state"] == sysfs(name, "ports/1/state", options).split()[1] == "ACTIVE", one)
        harness.expect(one["physical_state"] == "LINK_UP", one)
    subprocess.run(["ip", "link", "set", "urxb", "down"], check=True)
    down, = rdma_json("link", "show", "second/1", options=options)
    harness.expect(down["state"] == sysfs("second", "ports/1/state", options).split()[1] == "DOWN", down)
    harness.expect("urxe_lo/1 state ACTIVE" in rdma("-d", "link", options=options), "a line for people")


def counters():
    """After some traffic, each counter has the value of its file."""
    harness.need_programs("ibv_rc_pingpong")
    harness.isolate()
    # In a network that others use, too, a device of this name has counters that nobody else changes.
    name = f"counted{os.getpid()}"
    own = ["--device", f"{name}=lo"]
    port = str(harness.free_port())
    words = ["ibv_rc_pingpong", "-g", "0", "-p", port]
    harness.run_pair(harness.urxe_run(words, own), harness.urxe_run([*words, "127.0.0.1"], own), int(port))
    script = f"cd {SYSFS}/{name}/ports/1/hw_counters; for name in *; do echo $name $(cat $name); done"
    statistic = shlex.join([*program(), "-j", "statistic", "show", "link", f"{name}/1"])
    # One process tree, so that the counters are those of the same devices; nothing runs between.
    done = run(["sh", "-c", f"{script}; echo; {statistic}"], own)
    files, statistic = done.stdout.split("\n\n")
    files = {name: int(value) for name, value in map(str.split, files.splitlines())}
    shown, = json.loads(statistic)
    harness.expect((shown.pop("ifname"), shown.pop("port")) == (name, 1), shown)
    shown.pop("ifindex", None)
    harness.expect(shown == files, f"{shown}\nis not\n{files}")
    harness.expect(shown["sent_pkts"] > 0, shown)
    harness.expect(f"link {name}/1" in rdma("statistic", options=own), "all links")
    harness.expect("qp auto off" in rdma("statistic", "qp", "mode", options=own), "no counters are bound to queue pairs")
    done = try_rdma("statistic", "mode", "supported", options=LO)  # rdma has it since iproute2 5.16.
    harness.expect(done.stderr in ("", "Unknown statistic command 'mode'.\n") and done.returncode == 0, done)


def stat():
    done = subprocess.run([harness.binary("urxe"), "stat", "--json"], text=True, capture_output=True, check=True,
                          env=harness.environment())
    return json.loads(done.stdout)["devices"]


def start_idle(queue_pairs, state=".*"):
    """Two processes with so many queue pairs each. Returns when `urxe stat` has seen all of them in the state."""
    command = [harness.binary("urxe_qp_load"), "--pattern", "idle", "--qps", str(queue_pairs), "--seconds", "500"]
    program = Process(harness.urxe_run(command, LO))
    seen = lambda: sum(re.fullmatch(state, qp["state"]) is not None for device in stat() for qp in device["queue_pairs"])
    harness.wait_until(lambda: not program.running() or seen() == 2 * queue_pairs, "queue pairs")
    return program


def resources():
    harness.isolate()
    start_idle(3, "RTS")
    known = {qp["qpn"]: (device, qp) for device in stat() for qp in device["queue_pairs"]}
    listed = rdma_json("resource", "show", "qp", options=LO)
    harness.expect(sorted(one["lqpn"] for one in listed) == sorted(known), f"{listed}\n{sorted(known)}")
    for one in listed:
        device, qp = known[one["lqpn"]]
        harness.expect((one["ifname"], one["pid"], one["comm"]) == (device["device"], device["pid"], "urxe_qp_load"), one)
        harness.expect((one["type"], one["state"], one["rqpn"]) == (qp["type"], qp["state"], qp["peer"]["qpn"]), one)
        harness.expect((one["sq-psn"], one["rq-psn"]) == (qp["next_psn"], qp["expected_psn"]), one)
    number = listed[0]["lqpn"]
    alone = rdma_json("resource", "show", "qp", "link", "urxe_lo/1", "lqpn", str(number), options=LO)
    harness.expect([one["lqpn"] for one in alone] == [number], alone)
    queues = rdma_json("resource", "show", "cq", options=LO)
    expected = sorted((device["pid"], cq["number"], cq["capacity"]) for device in stat()
                      for cq in device["completion_queues"])
    harness.expect(sorted((one["pid"], one["cqn"], one["cqe"]) for one in queues) == expected, f"{queues}\n{expected}")
    summary, = rdma_json("resource", options=LO)
    harness.expect((summary["qp"], summary["cq"]) == (6, len(expected)), summary)
    harness.expect(all(one["path-mig-state"] == "MIGRATED" for one in listed), listed)
    domains = rdma_json("resource", "show", "pd", options=LO)
    regions = rdma_json("resource", "show", "mr", options=LO)
    pids = sorted(device["pid"] for device in stat())
    harness.expect(sorted(one["pid"] for one in domains) == pids and summary["pd"] == 2, domains)
    harness.expect({one["pid"] for one in regions} == set(pids) and len(regions) == summary["mr"], regions)
    for domain in domains:
        mine = lambda all_of_them, domain=domain: [one for one in all_of_them if (one["pid"], one["pdn"]) == (
            domain["pid"], domain["pdn"])]
        harness.expect(domain["users"] == len(mine(listed)) + len(mine(regions)), f"{domain} {listed} {regions}")
    contexts = rdma_json("resource", "show", "ctx", options=LO)
    harness.expect(sorted(one["pid"] for one in contexts) == pids and summary["ctx"] == 2, contexts)
    owners = {(one["pid"], one["ctxn"]) for one in contexts}
    harness.expect({(one["pid"], one["ctxn"]) for one in [*domains, *queues]} == owners, f"{contexts} {domains} {queues}")
    harness.expect("urxe_lo" in rdma("resource", "show", "urxe_lo", options=LO), "one device")


def shared_queues():
    """The server of the pingpong has its queue pairs before the client comes."""
    harness.need_programs("ibv_srq_pingpong")
    harness.isolate()
    server = Process(harness.urxe_run(["ibv_srq_pingpong", "-d", "urxe_lo", "-g", "0", "-q", "3", "-r", "50"], LO))
    pairs = lambda: [one for one in rdma_json("resource", "show", "qp", options=LO) if one["state"] == "INIT"]
    harness.wait_until(lambda: not server.running() or len(pairs()) == 3, "queue pairs")
    shown, = rdma_json("resource", "show", "srq", options=LO)
    harness.expect(sorted(map(int, shown["lqpn"])) == sorted(one["lqpn"] for one in pairs()), f"{shown} {pairs()}")
    harness.expect((shown["type"], shown["pid"]) == ("BASIC", server.pid) and "cqn" not in shown, shown)
    domain, = rdma_json("resource", "show", "pd", options=LO)
    harness.expect(shown["pdn"] == domain["pdn"], f"{shown} {domain}")
    text = rdma("resource", "show", "srq", options=LO)
    # rdma finds the name by itself; that of Ubuntu 24.04 prints it from a variable that is gone.
    harness.expect(f"pid {server.pid} comm " in text, text)


def connections():
    """A listener, and both ends of a connection."""
    harness.need_programs("rping")
    harness.isolate()
    port = harness.free_port()
    ids = lambda state: [one for one in rdma_json("resource", "show", "cm_id", options=LO) if one["state"] == state]
    server = Process(harness.urxe_run(["rping", "-s", "-P", "-p", str(port)], LO), "rping server")
    harness.wait_until(lambda: not server.running() or ids("LISTEN"), "a listener")
    listener, = ids("LISTEN")
    harness.expect((listener["ps"], listener["pid"]) == ("TCP", server.pid) and "lqpn" not in listener, listener)
    harness.expect(listener["src-addr"] in (f"0.0.0.0:{port}", f":::{port}") and "dst-addr" not in listener, listener)
    client = Process(harness.urxe_run(["rping", "-c", "-a", "127.0.0.1", "-p", str(port), "-C", "100000000"], LO))
    known = lambda: {one["lqpn"] for one in rdma_json("resource", "show", "qp", options=LO) if one["state"] == "RTS"}
    ends = lambda: [one for one in ids("CONNECT") if one.get("lqpn") in known()]
    harness.wait_until(lambda: not client.running() or len(ends()) == 2, "a connection")
    here, there = sorted(ends(), key=lambda one: one["pid"] == server.pid)
    harness.expect((here["pid"], there["pid"]) == (client.pid, server.pid), f"{here} {there}")
    harness.expect((here["src-addr"], here["dst-addr"]) == (there["dst-addr"], there["src-addr"]), f"{here} {there}")
    harness.expect(here["dst-addr"] == f"127.0.0.1:{port}" and here["qp-type"] == "RC", here)
    alone = rdma_json("resource", "show", "cm_id", "link", "urxe_lo/1", "lqpn", str(here["lqpn"]), options=LO)
    harness.expect([one["pid"] for one in alone] == [client.pid], alone)
    summary, = rdma_json("resource", options=LO)
    harness.expect(summary["cm_id"] == 3, summary)
    client.kill()
    harness.wait_until(lambda: not server.running() or not ids("CONNECT"), "the end of the connection")
    harness.expect([one["pid"] for one in ids("LISTEN")] == [server.pid], "the listener goes on")


def many_resources():
    """More queue pairs than a socket's receive buffer has room for."""
    harness.isolate()
    start_idle(1200, "RTS")
    listed = rdma_json("resource", "show", "qp", options=LO)
    harness.expect(len({(one["pid"], one["lqpn"]) for one in listed}) == 2400, len(listed))


def refused():
    harness.isolate()
    for words in (["dev", "set", "urxe_lo", "name", "other"], ["link", "add", "rxe0", "type", "rxe", "netdev", "lo"],
                  ["link", "delete", "urxe_lo"], ["statistic", "qp", "set", "link", "urxe_lo/1", "auto", "type", "on"]):
        done = try_rdma(*words, options=LO)
        harness.expect(done.returncode != 0 and re.search("not supported|cannot be changed", done.stderr), done)
    harness.expect("urxe_lo" in rdma("link", options=LO), "the device is still there")
    done = try_rdma("link", "show", "nothing/1", options=LO)
    harness.expect(done.returncode != 0 and "Wrong device name" in done.stderr, done)


def unprivileged():
    harness.need_programs("setpriv")
    harness.isolate()
    env = harness.environment()
    env.pop("XDG_RUNTIME_DIR", None)
    with harness.reachable_urxe() as urxe:
        for words in (["link"], ["dev"], ["resource"], ["statistic"]):
            output = Process(harness.unprivileged([urxe, "run", *LO, "--", "rdma", *words]), env=env).expect_success()
            harness.expect("urxe_lo" in output, output)


# What follows runs under urxe.

def message(kind, flags, payload=b"", sequence=1):
    return struct.pack("=IHHII", 16 + len(payload), kind, flags | NLM_F_REQUEST, sequence, 0) + payload


def number_attribute(kind, value):
    return struct.pack("=HHI", 8, kind, value)


def netlink():
    made = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA)
    made.bind((0, 0))
    return made


def receive_all(made):
    """The types and payloads up to the end of a dump."""
    messages = []
    while True:
        data, sender = made.recvfrom(65536)
        assert sender[1] == 0, sender
        while data:
            length, kind, _, sequence, port = struct.unpack_from("=IHHII", data)
            assert port == made.getsockname()[0], (port, made.getsockname())
            messages.append((kind, sequence, data[16:length]))
            data = data[(length + 3) & ~3:]
        if messages[-1][0] in (NLMSG_ERROR, NLMSG_DONE):
            return messages


def names_of(made, sequence):
    messages = receive_all(made)
    assert messages[-1][0] == NLMSG_DONE and all(one[1] == sequence for one in messages), messages
    return [payload[12:12 + struct.unpack_from("=H", payload, 8)[0] - 4].rstrip(b"\0").decode()
            for kind, _, payload in messages if kind == GET]


def each_call_inside():
    """All ways to send, and copies of the descriptor."""
    made = netlink()
    ways = [made.send, lambda data: made.sendto(data, (0, 0)), lambda data: made.sendmsg([data]),
            lambda data: made.sendmsg([data[:7], data[7:20], data[20:]], [], 0, (0, 0)),
            lambda data: os.write(made.fileno(), data), lambda data: os.writev(made.fileno(), [data[:9], data[9:]]),
            lambda data: made.dup().send(data)]
    for sequence, send in enumerate(ways, 100):
        data = message(GET, NLM_F_DUMP, sequence=sequence)
        assert send(data) == len(data)
        assert "urxe_lo" in names_of(made, sequence), sequence
    # Two requests in one datagram, as the kernel takes them.
    made.send(message(GET, NLM_F_DUMP, sequence=1) + message(GET, NLM_F_DUMP, sequence=2))
    assert "urxe_lo" in names_of(made, 1) and "urxe_lo" in names_of(made, 2)
    child = os.fork()
    if child == 0:
        made.send(message(GET, NLM_F_DUMP, sequence=3))
        os._exit(0 if "urxe_lo" in names_of(made, 3) else 1)
    assert os.waitpid(child, 0)[1] == 0


def garbage_inside():
    made = netlink()
    made.setblocking(False)
    random.seed(4711)
    for turn in range(3000):
        payload = bytes(random.randrange(256) for _ in range(random.randrange(60)))
        data = bytearray(message(5 << 10 | random.randrange(40), random.choice([0, NLM_F_ACK, NLM_F_DUMP]),
                                 random.choice([b"", number_attribute(DEV_INDEX, 10192)]) + payload))
        for _ in range(random.randrange(4)):
            data[random.randrange(len(data))] = random.randrange(256)
        made.send(random.choice([data, data[:random.randrange(len(data))], payload]))
        try:
            while turn % 3:  # sometimes nobody reads
                made.recv(65536)
        except BlockingIOError:
            pass
    asker = netlink()
    asker.send(message(GET, NLM_F_DUMP, sequence=9))
    assert "urxe_lo" in names_of(asker, 9)


def sane_calls_inside():
    """A bad address is an error as of the kernel, and a request without end goes nowhere."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    made = netlink()
    assert libc.send(made.fileno(), ctypes.c_void_p(8), 64, 0) == -1 and ctypes.get_errno() == 14
    assert libc.sendmsg(made.fileno(), ctypes.c_void_p(8), 0) == -1 and ctypes.get_errno() == 14
    made.send(message(RES_QP_GET, NLM_F_DUMP, number_attribute(DEV_INDEX, 999999)))
    kind, _, payload = receive_all(made)[-1]
    assert kind == NLMSG_ERROR and struct.unpack_from("=i", payload)[0] == -22, payload


def inside(function):
    def outside():
        harness.isolate()
        output = Process(harness.urxe_run([sys.executable, "-B", __file__, function.__name__], LO)).expect_success()
        print(output)
    return outside


INSIDE = {f.__name__: f for f in (each_call_inside, garbage_inside, sane_calls_inside)}
CASES = {f.__name__: f for f in (devices, links, counters, resources, shared_queues, connections, many_resources, refused,
                                 unprivileged)}
CASES |= {name.removesuffix("_inside"): inside(f) for name, f in INSIDE.items()}


def test():
    harness.need_programs(program()[-1])
    CASES[sys.argv[1]]()


if sys.argv[1] in INSIDE:
    INSIDE[sys.argv[1]]()
else:
    harness.main(test)
