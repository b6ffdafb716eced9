#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""stat.py CASE: what `urxe stat` says of programs that run."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import harness
from harness import Process


def stat(*options, expected=0):
    done = subprocess.run([harness.binary("urxe"), "stat", *map(str, options)], capture_output=True, text=True,
                          env=harness.environment(), timeout=harness.PATIENCE)
    harness.expect(done.returncode == expected,
                   f"stat {options} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def queue_pairs(*options):
    """Those of all processes: each with its process ID."""
    report = json.loads(stat("--json", *options))
    return [dict(qp, pid=device["pid"], program=device["program"], device=device["device"])
            for device in report["devices"] for qp in device["queue_pairs"]]


def start_bandwidth():
    """A pair of ib_write_bw that goes on for long."""
    port = harness.free_port()
    words = ["ib_write_bw", "-F", "-p", str(port), "-x", "0", "-D", "60"]
    server = Process(harness.urxe_run(words, options=["--device", "lo"]), name="server")
    server.wait_for_listener(port)
    client = Process(harness.urxe_run([*words, "127.0.0.1"], options=["--device", "lo"]), name="client")

    def goes():
        seen = {qp["pid"]: qp for qp in queue_pairs()}
        return client.pid in seen and seen[client.pid]["counters"]["sends_completed"] > 0
    harness.wait_until(goes, "traffic")
    return server, client


def traffic():
    """Both ends are there, and name each other; what they count grows, and fits."""
    harness.need_programs("ib_write_bw")
    harness.isolate()
    harness.expect("PROGRAM" in stat(), "a heading at least")
    server, client = start_bandwidth()
    before = {qp["pid"]: qp for qp in queue_pairs()}
    sender, receiver = before[client.pid], before[server.pid]
    harness.expect(sender["peer"]["qpn"] == receiver["qpn"] and receiver["peer"]["qpn"] == sender["qpn"], before)
    harness.expect(sender["state"] == "RTS" and sender["type"] == "RC", sender)
    harness.expect(sender["program"] == "ib_write_bw" and sender["device"] == "urxe_lo", sender)
    time.sleep(0.5)
    after = {qp["pid"]: qp for qp in queue_pairs()}
    for pid, what in ((client.pid, "sends_completed"), (server.pid, "requests_executed")):
        grown = after[pid]["counters"][what] - before[pid]["counters"][what]
        harness.expect(grown > 0, f"{what} of {pid} grew by {grown}")
    harness.expect(after[server.pid]["counters"]["received_packets"] <= after[client.pid]["counters"]["sent_packets"]
                   + 10**6, "no more came than went")
    one = queue_pairs("--pid", client.pid)
    harness.expect([qp["pid"] for qp in one] == [client.pid], one)
    one = queue_pairs("--qp", hex(receiver["qpn"]))
    harness.expect([qp["qpn"] for qp in one] == [receiver["qpn"]], one)
    lines = stat("--interval", 0.3, "--count", 2, "--pid", client.pid).splitlines()
    harness.expect(len(lines) == 4 and "/s" in lines[3] and "/s" not in lines[1], lines)
    check_metrics(stat("--prometheus"), sender["qpn"])
    client.kill()
    server.kill()
    left = [qp for qp in queue_pairs() if qp["pid"] in (client.pid, server.pid)]
    harness.expect(left == [], f"of killed processes: {left}")


def check_metrics(text, qpn):
    line = re.compile(r'urxe_qp_[a-z_]+\{([a-z_]+="[^"]*",?)+\} [0-9.e+-]+')
    values = [each for each in text.splitlines() if not each.startswith("#")]
    harness.expect(values and all(line.fullmatch(each) for each in values), text)
    harness.expect(any(each.startswith("urxe_qp_sent_bytes_total") and f"0x{qpn:06x}" in each for each in values), text)


WHY = {
    # Words of the explanation at the end that has posted, and at the other end.
    "unknown_key": (["the peer has refused", "remote access error", "REM_ACCESS_ERR", "wr_id 77"],
                    ["this side has refused", "no memory region or window has the key", "RC WRITE Only"]),
    "bounds": (["remote access error"], ["the range is not inside", "8 B at 0x"]),
    "rights": (["remote access error"], ["does not grant the access"]),
    "no_receive": (["had no receive posted", "RNR_RETRY_EXC_ERR"], []),
    "no_answer": (["has not answered", "RETRY_EXC_ERR"], []),
    "local_key": (["could not be carried out on this side", "no memory region", "LOC_PROT_ERR"], []),
    "modified": (["the application has moved it to ERR"], []),
}


def why():
    """Each failure is explained at both ends."""
    harness.isolate()
    for case, (ours, theirs) in WHY.items():
        program = Process(harness.urxe_run([harness.binary("urxe_qp_failures"), case], options=["--device", "lo"]),
                          name=case)
        harness.wait_until(lambda: "done" in program.output or not program.running(), case)
        _, left, _, right = program.output.split()[:4]
        harness.wait_until(lambda: " ERR" in stat("--pid", program.pid, "--qp", left), f"{case}: the state")
        failed = case != "modified"
        said = stat("--why", "--qp", left, expected=1 if failed else 0)
        harness.expect(all(word in said for word in ours), f"{case}: {said}")
        if theirs:
            said = stat("--why", "--qp", right, expected=1)
            harness.expect(all(word in said for word in theirs), f"{case}: {said}")
        # Without a number: those that failed.
        said = stat("--why", "--pid", program.pid, expected=1 if failed else 0)
        harness.expect(("queue pair " + left in said) == failed, f"{case}: {said}")
        harness.expect(("no queue pair has failed" in said) != failed, f"{case}: {said}")
        program.kill(signal.SIGKILL)


def wrong():
    """Wrong use ends with 2 and one line."""
    harness.isolate()
    for options in (["--qp", "x"], ["--qp", "0x1000000"], ["--qp", "-1"], ["--interval", "0"], ["--count", "3"],
                    ["--interval", "nan"], ["--json", "--why"], ["--json", "--prometheus"], ["--pid", "x"], ["word"],
                    ["--why", "--interval", "1"]):
        done = subprocess.run([harness.binary("urxe"), "stat", *options], capture_output=True, text=True,
                              env=harness.environment(), timeout=harness.PATIENCE)
        harness.expect(done.returncode == 2 and done.stderr.startswith("urxe"), f"{options}: {done}")
    stat("--pid", os.getpid(), expected=1)
    stat("--qp", "0x10", expected=1)


def stopped():
    """A process that is stopped is shown as it was."""
    harness.need_programs("ib_write_bw")
    harness.isolate()
    _server, client = start_bandwidth()
    client.kill(signal.SIGSTOP)
    seen = queue_pairs("--pid", client.pid)
    harness.expect(len(seen) == 1 and seen[0]["counters"]["sends_completed"] > 0, seen)
    client.kill(signal.SIGCONT)


harness.main({"traffic": traffic, "why": why, "wrong": wrong, "stopped": stopped}[sys.argv[1]])
