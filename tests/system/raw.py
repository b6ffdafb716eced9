#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The raw engine between two hosts. usage: raw.py CASE [ARGUMENT]"""

import os
import signal
import subprocess
import sys
import tempfile

import harness
from harness import Process

BOTH_RAW = ("raw", "raw")
IPV4, IPV6 = "1", "2"  # In the GID table.
INTERFACE, DEVICE = harness.Host.interface, harness.Host.device


class Link:
    """The two ends of a link: this host and the other one."""

    def __init__(self, engines, mtu):
        here, self.other = harness.two_hosts(mtu)
        self.ours, self.engines = here.ipv4, engines
        self._before = [self.read_counters(end) for end in (0, 1)]

    def run(self, end, command, options=()):
        words = harness.urxe_run(command, ["--engine", self.engines[end], *options])
        return words if end == 0 else self.other.command(words)

    def read_counters(self, end):
        return harness.hw_counters(DEVICE, lambda words: self.run(end, words))

    def counters(self, end):
        """What the counters of an end have counted since the link was made."""
        return {name: value - self._before[end][name] for name, value in self.read_counters(end).items()}

    def pair(self, program, *arguments, options=((), ()), gid="-g", index=IPV4):
        """Runs a program with a server and a client, the server at this end. Returns what they print."""
        harness.need_programs(program)
        port = harness.free_port()
        words = [program, "-d", DEVICE, gid, index, "-p", str(port), *arguments]
        return harness.run_pair(self.run(0, words, options[0]), self.run(1, [*words, self.ours], options[1]), port)

    def expect_frames(self, packets):
        """At least so many went as frames in each direction, and nearly all did: the first ones may go by UDP."""
        for end in (0, 1):
            found = self.counters(end)
            for way in ("sent", "rcvd"):
                if self.engines[end] == "udp":
                    harness.expect(found[f"raw_{way}_pkts"] == 0, f"the UDP engine's frames: {found}")
                    continue
                frames, all_packets = found[f"raw_{way}_pkts"], found[f"{way}_pkts"]
                harness.expect(packets <= frames >= all_packets * 0.8, f"end {end}: {frames} of {all_packets} {way}")
            harness.expect(found["retry_exceeded_err"] == 0 == found["drop_bad_icrc"], f"end {end}: {found}")


def pingpongs(index):
    """The stock pingpongs; rc with events, too."""
    ends = Link(BOTH_RAW, 4500)
    for program, *arguments in (["ibv_rc_pingpong", "-c"], ["ibv_rc_pingpong", "-e"], ["ibv_uc_pingpong", "-c"],
                                ["ibv_ud_pingpong", "-c", "-s", "2000"], ["ibv_srq_pingpong", "-c"],
                                ["ibv_xsrq_pingpong"]):
        before = ends.counters(0)["raw_rcvd_pkts"]
        for output in ends.pair(program, *arguments, index=index):
            harness.expect("invalid data" not in output, output)
        harness.expect(ends.counters(0)["raw_rcvd_pkts"] > before, f"{program} over UDP only")
    ends.expect_frames(1000)


def pingpongs_ipv4():
    pingpongs(IPV4)


def pingpongs_ipv6():
    pingpongs(IPV6)


def mixed():
    """With the UDP engine, in both roles."""
    for engines in (("raw", "udp"), ("udp", "raw")):
        ends = Link(engines, 1500)
        for index in (IPV4, IPV6):
            ends.pair("ibv_rc_pingpong", "-c", "-s", "65536", index=index)
            ends.pair("ibv_ud_pingpong", "-c", "-s", "1024", index=index)
        ends.expect_frames(1000)


def perftest(verb):
    ends = Link(BOTH_RAW, 9000)
    ends.pair(f"ib_{verb}_lat", "-F", "-n", "2000", gid="-x")
    ends.pair(f"ib_{verb}_bw", "-F", "-n", "300", *([] if verb == "atomic" else ["-s", "1000000"]), gid="-x")
    ends.pair(f"ib_{verb}_bw", "-F", "-n", "300", "-q", "8", gid="-x", index=IPV6)
    ends.expect_frames(1000)


def verify(engines, *arguments, mtu=1500, options=((), ()), index=IPV4):
    ends = Link(engines.split("_"), mtu)
    small = ["--batches", "5", "--max-size", "300000", "--budget", "1000000"]
    port = harness.free_port()
    words = [harness.binary("urxe_rc_verify"), "-d", DEVICE, "-g", index, "-p", str(port)]
    _, client = harness.run_pair(ends.run(0, words, options[0]),
                                 ends.run(1, [*words, *small, *arguments, ends.ours], options[1]), port)
    print(client)
    if not any(options):
        ends.expect_frames(50)


def verify_ipv4():
    verify("raw_raw")


def verify_ipv6_mtu4096():
    verify("raw_udp", "--mtu", "4096", mtu=4500, index=IPV6)


def verify_faults():
    verify("raw_raw", "--seed", "5", options=(["--fault", "loss=1%,reordering=1%,corruption=0.5%"], ()))


def sharing():
    """A process with a raw and one with a UDP engine on one address: each talks to the other host, and to the other."""
    harness.need_programs("ibv_rc_pingpong")
    ends = Link(BOTH_RAW, 4500)
    ports = [harness.free_port() for _ in range(3)]
    count = 3000
    words = lambda port: ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-n", str(count), "-c", "-p", str(port)]
    engines = lambda engine: ["--engine", engine, "--no-shm"]
    servers = [Process(harness.urxe_run(words(port), engines(engine)), f"server: {engine}")
               for port, engine in zip(ports, ("raw", "udp", "raw"))]
    for server, port in zip(servers, ports):
        server.wait_for_listener(port)
    clients = [Process(ends.run(1, words(port) + [ends.ours]), "client") for port in ports[:2]]
    clients.append(Process(harness.urxe_run(words(ports[2]) + [ends.ours], engines("udp")), "client here"))
    for process in clients + servers:
        harness.expect("invalid data" not in process.expect_success(), process.output)
    found = ends.counters(0)
    harness.expect(found["raw_rcvd_pkts"] > count and found["drop_unknown_qp"] == 0, f"{found}")
    harness.expect(found["raw_rcvd_pkts"] < found["rcvd_pkts"], f"all by frames: {found}")


def killed():
    """The peer of a process that is killed gets its error; the next pair works."""
    ends = Link(BOTH_RAW, 9000)
    harness.need_programs("ib_write_bw")
    port = harness.free_port()
    words = ["ib_write_bw", "-d", DEVICE, "-x", IPV4, "-F", "-D", "60", "-u", "15", "-p", str(port)]
    server = Process(ends.run(0, words), "server")
    server.wait_for_listener(port)
    client = Process(ends.run(1, [*words, ends.ours]), "client")
    runs = lambda: client.running() and server.running()
    harness.wait_until(lambda: ends.counters(0)["raw_rcvd_pkts"] > 1000 or not runs(), "frames", 60)
    harness.expect(runs(), f"one ended by itself:\n{server.output}\n{client.output}")
    server.kill()
    harness.expect(client.wait(60) != 0, "the client did not notice")
    ends.pair("ibv_rc_pingpong", "-c")


def capture():
    """What is recorded at both ends is RoCE with right ICRCs, and so is what tcpdump sees on the wire."""
    harness.need_programs("tshark")
    ends = Link(BOTH_RAW, 1500)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("a.pcapng", "b.pcapng", "wire.pcapng")]
        harness.without_offloads(INTERFACE)
        harness.without_offloads(INTERFACE, ends.other.command([]))
        wire = Process(["tshark", "-q", "-i", INTERFACE, "-f", "udp port 4791", "-w", files[2]], "tshark")
        harness.wait_until(lambda: os.path.exists(files[2]) and "Capturing" in wire.output, "tshark")
        for index in (IPV4, IPV6):
            ends.pair("ibv_rc_pingpong", "-n", "50", "-s", "10000", index=index,
                      options=(["--capture", files[0]], ["--capture", files[1]]))
        wait_for_wire = lambda: os.path.getsize(files[2]) > 1000000
        harness.wait_until(wait_for_wire, "the capture of the wire")
        wire.kill(signal.SIGINT)
        wire.wait()
        for file in files:
            subprocess.run([harness.binary("urxe_icrc_check"), file], check=True)
        bad = subprocess.run(["tshark", "-r", files[2], "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                              "-Y", "ip.checksum.status == 0 || udp.checksum.status == 0", "-T", "fields", "-e",
                              "frame.number"], check=True, capture_output=True, text=True).stdout.split()
        harness.expect(not bad, f"wrong checksums on the wire: {bad[:9]}")


def vlan():
    """On a VLAN device; the device of the interface below it hears nothing of that."""
    ends = Link(BOTH_RAW, 1500)
    name = f"{INTERFACE}.7"
    for last, words in ((1, []), (2, ends.other.command([]))):
        run = lambda *arguments: subprocess.run([*words, "ip", *arguments], check=False)
        made = run("link", "add", "link", INTERFACE, "name", name, "type", "vlan", "id", "7")
        if made.returncode != 0:
            harness.skip("this kernel has no VLANs")
        run("addr", "add", f"10.97.0.{last}/24", "dev", name)
        run("link", "set", name, "up")
    port = harness.free_port()
    words = ["ibv_rc_pingpong", "-d", "vlan", "-g", IPV4, "-c", "-p", str(port)]
    device = ["--device", f"vlan={name}"]
    harness.run_pair(ends.run(0, words, device), ends.run(1, [*words, "10.97.0.1"], device), port)
    harness.expect(ends.counters(0)["rcvd_pkts"] == 0, "packets without the tag")


def need_root():
    if not harness.is_root():
        harness.skip("needs root, to become another user")


def expect_refused(command, words, env=None):
    """It ends with code 2 and one line that has these words. Returns what else it prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env or harness.environment())
    harness.expect(done.returncode == 2, f"{command} ends with {done.returncode}")
    harness.expect(done.stderr.count("\n") == 1 and all(word in done.stderr for word in words), done.stderr)
    return done.stdout


def refused():
    """Bad input."""
    need_root()
    harness.two_hosts()
    program = harness.binary("urxe")
    names = ["there is no engine 'dpkd'", "udp, raw, dpdk and auto"]
    expect_refused([program, "run", "--engine", "dpkd", "true"], names)
    expect_refused([program, "devices", "--engine", "dpkd"], names)
    for command in (["run", "true"], ["devices"]):
        expect_refused([program, *command], names, env={**harness.environment(), "URXE_ENGINE": "dpkd"})
    expect_refused([program, "run", "--engine", "raw", "--device", "x=nope", "true"], ["there is no interface 'nope'"])
    expect_refused([program, "run", "--engine", "raw", "--device", "x=lo", "true"], ["Ethernet interface", "use udp"])
    expect_refused([program, "devices", "--engine", "raw", "--device", "lo"], ["Ethernet interface", "use udp"])
    expect_refused([program, "devices", "--dpdk-args", "x"], ["--dpdk-args is for --engine dpdk"])
    for command in (["run", "--engine", "raw", "true"], ["devices", "--engine", "raw"]):
        printed = expect_refused(harness.unprivileged([program, *command]),
                                 ["CAP_NET_RAW", "setpriv", "ambient", "--engine udp"])
        harness.expect("raw" not in printed, printed)


def devices():
    harness.two_hosts()
    list_devices = [harness.binary("urxe"), "devices", "--engine", "raw"]
    listed = lambda *options: subprocess.run([*list_devices, *options], check=True, capture_output=True,
                                             text=True).stdout.splitlines()
    lines = listed("--device", "lo", "--device", INTERFACE)
    column = lines[0].index("ENGINE")
    engines = {line.split()[0]: line[column:].split()[0] for line in lines[1:]}
    harness.expect(engines == {"urxe_lo": "udp", DEVICE: "raw"}, f"{engines}")
    lines = listed()
    harness.expect(len(lines) == 3 and lines[1].startswith(f"{DEVICE} ") and lines[2].startswith("(lo ")
                   and "--device lo" in lines[2], f"{lines}")


def capability():
    """An ordinary user with the ambient capability, as the message says."""
    need_root()
    harness.need_programs("setpriv")
    ends = Link(BOTH_RAW, 1500)
    user = ["setpriv", f"--reuid={harness.NOBODY}", f"--regid={harness.NOBODY}", "--clear-groups", "--inh-caps=+net_raw",
            "--ambient-caps=+net_raw", "--"]
    environment = harness.environment()
    with harness.reachable_urxe() as urxe:
        port = harness.free_port()
        run = lambda *command: [*user, urxe, "run", "--engine", "raw", "--", *command]
        words = ["ibv_rc_pingpong", "-d", DEVICE, "-g", IPV4, "-c", "-p", str(port)]
        harness.run_pair(run(*words), ends.other.command(run(*words, ends.ours)), port, env=environment)
        # The counters are the user's.
        counter = f"/sys/class/infiniband/{DEVICE}/ports/1/hw_counters/raw_rcvd_pkts"
        harness.expect(int(Process(run("cat", counter), env=environment).expect_success()) > 1000, "no frames")


CASES = {f.__name__: f for f in (pingpongs_ipv4, pingpongs_ipv6, mixed, perftest, verify_ipv4, verify_ipv6_mtu4096,
                                 verify_faults, sharing, killed, capture, vlan, refused, devices, capability)}


def test():
    harness.need_programs("ibv_rc_pingpong")
    harness.need_raw_engine()
    CASES[sys.argv[1]](*sys.argv[2:])


harness.main(test)
