#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures of urxe's traffic, made by tcpdump on the interface or by `urxe run --capture`, hold up: tshark names
every opcode and finds no malformed frame, and the ICRC checker accepts every one. usage: capture.py tap|tcpdump|offload"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import harness
from harness import Process

# What urxe_rc_verify sends, by tshark's names: each must be seen.
EXPECTED_OPCODES = [
    "RC Send First", "RC Send Middle", "RC Send Last", "RC Send Last Immediate", "RC Send Only",
    "RC Send Only Immediate", "RC RDMA Write First", "RC RDMA Write Middle", "RC RDMA Write Last",
    "RC RDMA Write Last Immediate", "RC RDMA Write Only", "RC RDMA Write Only Immediate",
    "RC RDMA Read Request", "RC RDMA Read response First", "RC RDMA Read response Middle",
    "RC RDMA Read response Last", "RC RDMA Read response Only", "RC Acknowledge", "RC Atomic Acknowledge",
    "RC Compare Swap", "RC Fetch Add",
]
# Guesses what a payload might be; random bytes look like anything, and then like a malformed one.
NO_GUESSES = [word for name in ("smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband_sdp", "fcoib")
              for word in ("--disable-protocol", name)] + ["--disable-heuristic", "eth_over_ib",
                                                           "--disable-heuristic", "mellanox_eoib"]
SMALL = ["--batches", "5", "--max-size", "20000", "--budget", "100000", "--messages", "32", "--qps", "2"]


def normalized(name):
    words = name.replace("Reliable Connection (RC) - ", "RC ").replace("-", " ")
    return re.sub(r"[^a-z0-9]+", "", words.lower())


def check_with_tshark(file):
    fields = subprocess.run(
        ["tshark", "-r", file, *NO_GUESSES, "-T", "fields", "-E", "separator=|", "-e", "_ws.col.Protocol", "-e", "_ws.malformed",
         "-e", "infiniband.bth.opcode", "-e", "_ws.col.Info", "udp.port == 4791"],
        check=True, capture_output=True, text=True).stdout.splitlines()
    harness.expect(fields, f"{file} has no RoCE frame")
    names = collections.Counter()
    for line in fields:
        protocol, malformed, opcode, info = line.split("|", 3)
        harness.expect(not malformed, f"malformed: {line}")
        harness.expect(protocol in ("RRoCE", "InfiniBand"), f"not named by tshark: {line}")
        harness.expect(opcode != "", f"no opcode: {line}")
        names[normalized(info.split("QP=")[0])] += 1
    missing = [name for name in EXPECTED_OPCODES if normalized(name) not in names]
    harness.expect(not missing, f"opcodes {missing} are not among {dict(names)}")
    print(f"{file}: {len(fields)} frames, {len(names)} kinds")


def check_icrc(file):
    subprocess.run([harness.binary("urxe_icrc_check"), file], check=True)


def tap():
    """Both processes write a capture; each has both directions."""
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        port = harness.free_port()
        files = [os.path.join(folder, name) for name in ("server.pcapng", "client.pcapng")]
        program = [harness.binary("urxe_rc_verify"), "-d", "urxe_lo", "-p", str(port)]
        server = harness.urxe_run(program, ["--capture", files[0]])
        client = harness.urxe_run([*program, *SMALL, "127.0.0.1"], ["--capture", files[1]])
        harness.run_pair(server, client, port)
        for file in files:
            check_with_tshark(file)
            check_icrc(file)


def record_with_tcpdump(interface, file):
    """Records RoCE packets, each at once: what waits in a block when it ends would be missing."""
    recorder = Process(["tcpdump", "-i", interface, "-U", "--immediate-mode", "-B", "65536", "-s", "0", "-w", file,
                        "udp port 4791"])
    harness.wait_until(lambda: "listening on" in recorder.output, "tcpdump to listen")
    return recorder


def tcpdump():
    """A capture of packets to another host with segmentation offload off: what would be on a wire."""
    harness.need_programs("tcpdump", "ethtool")
    here, other = harness.two_hosts()
    harness.without_offloads(here.interface)
    harness.without_offloads(other.interface, other.command([]))
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        file = os.path.join(folder, "hosts.pcap")
        recorder = record_with_tcpdump(here.interface, file)
        port = harness.free_port()
        program = lambda host: [harness.binary("urxe_rc_verify"), "-d", host.device, "-g", "1", "-p", str(port)]
        harness.run_pair(harness.urxe_run(program(here)),
                         other.command(harness.urxe_run([*program(other), *SMALL, here.ipv4])), port)
        recorder.kill(signal.SIGINT)
        recorder.wait()
        harness.expect("\n0 packets dropped by kernel" in recorder.output, recorder.output)
        check_with_tshark(file)
        check_icrc(file)


def offload():
    """tcpdump sees datagrams of several packets on lo, and urxe's probes of its port. `urxe analyze` finds nothing wrong."""
    harness.need_programs("tcpdump")
    harness.isolate()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        file = os.path.join(folder, "lo.pcap")
        recorder = record_with_tcpdump("lo", file)
        port = harness.free_port()
        program = [harness.binary("urxe_rc_verify"), "-d", "urxe_lo", "-p", str(port)]
        harness.run_pair(harness.urxe_run(program, ["--no-shm"]),
                         harness.urxe_run([*program, *SMALL, "127.0.0.1"], ["--no-shm"]), port)
        recorder.kill(signal.SIGINT)
        recorder.wait()
        analysis = subprocess.run([harness.binary("urxe"), "analyze", "--json", file], capture_output=True, text=True)
        found = json.loads(analysis.stdout)["capture"]
        harness.expect(analysis.returncode == 0, f"urxe analyze: {analysis.returncode}, {found}")
        harness.expect(found["split"] > 0 and found["urxe_probe"] > 0, str(found))
        harness.expect(found["merged"] == 0 and found["bad_icrc"] == 0, str(found))


def test():
    cases = {"tap": tap, "tcpdump": tcpdump, "offload": offload}
    if sys.argv[1] != "offload":
        harness.need_programs("tshark")
    cases[sys.argv[1]]()


harness.main(test)
