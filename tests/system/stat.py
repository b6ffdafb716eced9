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


def run_stat(*options, **more):
    """`urxe stat`, however it ends."""
    return subprocess.run([harness.binary("urxe"), "stat", *map(str, options)], text=True, env=harness.environment(),
                          timeout=harness.PATIENCE, **({"capture_output": True} | more))


def stat(*options, expected=0):
    done = run_stat(*options)
    harness.expect(done.returncode == expected,
                   f"stat {options} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def own_shared_files():
    """Only so many files of failures are kept for a user, and other tests make some."""
    harness.own_files()
    harness.mount_tmpfs("/dev/shm")


def start_failure(case, end="stay", options=(), **more):
    """Two queue pairs of which one has failed, and their numbers as text."""
    program = Process(harness.urxe_run([harness.binary("urxe_qp_failures"), case, end],
                                       options=["--device", "lo", *options]), name=case, **more)
    harness.wait_until(lambda: "done" in program.output or not program.running(), case)
    return program, *re.search(r"left (0x\w+) right (0x\w+)", program.output).groups()


def queue_pairs(*options):
    """Those of all processes: each with its process ID."""
    report = json.loads(stat("--json", *options))
    return [dict(qp, pid=device["pid"], program=device["program"], device=device["device"])
            for device in report["devices"] for qp in device["queue_pairs"]]


def start_bandwidth(options=()):
    """A pair of ib_write_bw that goes on for long. `options` are of the client's `urxe run`."""
    port = harness.free_port()
    words = ["ib_write_bw", "-F", "-p", str(port), "-x", "0", "-D", "60"]
    server = Process(harness.urxe_run(words, options=["--device", "lo"]), name="server")
    server.wait_for_listener(port)
    client = Process(harness.urxe_run([*words, "127.0.0.1"], options=["--device", "lo", *options]), name="client")

    def goes():
        seen = {qp["pid"]: qp for qp in queue_pairs()}
        # Each end tells of itself in its own time.
        return (client.pid in seen and seen[client.pid]["counters"]["sends_completed"] > 0 and
                server.pid in seen and seen[server.pid]["counters"]["requests_executed"] > 0)
    harness.wait_until(goes, "traffic")
    return server, client


def many():
    """The last state of each of many queue pairs is told, although they change while others are told of."""
    harness.isolate()
    program = Process(harness.urxe_run([harness.binary("urxe_qp_load"), "--pattern", "idle", "--qps", "600",
                                        "--seconds", "500"], options=["--device", "lo"]))
    ready = lambda: sum(qp["state"] == "RTS" for qp in queue_pairs())
    harness.wait_until(lambda: not program.running() or ready() == 1200, "queue pairs in RTS")
    harness.expect(program.running(), program.output)


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
    for pid, what in ((client.pid, "sends_completed"), (server.pid, "requests_executed")):
        counted = lambda pid=pid, what=what: {qp["pid"]: qp["counters"][what] for qp in queue_pairs()}[pid]
        harness.wait_until(lambda pid=pid, what=what, counted=counted: counted() > before[pid]["counters"][what],
                           f"{what} of {pid} to grow")
    engines = {device["engine"] for device in json.loads(stat("--json"))["devices"]}
    harness.expect(engines == {"udp+shm"}, engines)
    one = queue_pairs("--pid", client.pid)
    harness.expect([qp["pid"] for qp in one] == [client.pid], one)
    one = queue_pairs("--qp", hex(receiver["qpn"]))
    harness.expect([qp["qpn"] for qp in one] == [receiver["qpn"]], one)
    lines = stat("--interval", 0.3, "--count", 2, "--pid", client.pid).splitlines()
    harness.expect(len(lines) == 6 and re.fullmatch(r"[-:T0-9+]+, so far", lines[0]) and
                   re.fullmatch(r"[-:T0-9+]+, in a second", lines[3]), lines)
    harness.expect(all(len(line) <= 80 for line in lines), lines)
    queues = [line.split() for line in stat("--cq", "--pid", client.pid).splitlines()]
    harness.expect(queues[0][3] == "CQ" and queues[1][2:4] == [str(client.pid), "1"], queues)
    sums = stat("--by", "device").splitlines()
    harness.expect(len(sums) == 2 and sums[1].split()[:4] == ["urxe_lo", "2", "2", "0"], sums)
    pids = [line.split()[1] for line in stat("--by", "process").splitlines()[1:]]
    harness.expect(sorted(pids) == sorted([str(client.pid), str(server.pid)]), pids)
    check_metrics(stat("--prometheus"), sender["qpn"])
    client.kill()
    server.kill()
    left = [qp for qp in queue_pairs() if qp["pid"] in (client.pid, server.pid)]
    harness.expect(left == [], f"of killed processes: {left}")


def off():
    """With URXE_STAT=0 a program tells nothing."""
    harness.isolate()
    silent = Process(harness.urxe_run(["env", "URXE_STAT=0", harness.binary("urxe_qp_failures"), "bounds", "stay"],
                                      options=["--device", "lo"]), name="silent")
    harness.wait_until(lambda: "done" in silent.output or not silent.running(), "the silent program")
    told = start_failure("bounds")[0]
    shown = {qp["pid"] for qp in queue_pairs()}
    harness.expect(silent.running() and shown == {told.pid}, f"{shown} are shown, not {told.pid}")
    told.kill()
    silent.kill()


def balance():
    """What one end has sent, the other has received: nothing is lost on the loopback. Only a request that was sent again for
    want of time may come too late: the other end is in ERR then, and takes nothing."""
    harness.isolate()
    for case in ("bounds", "no_receive", "unknown_key"):
        program, left, right = start_failure(case)

        def counters():
            seen = {f"0x{qp['qpn']:06x}": qp["counters"] for qp in queue_pairs("--pid", program.pid)}
            return seen[left], seen[right]

        def balances(sender, receiver):
            missing = sender["sent_packets"] - receiver["received_packets"]
            if missing == 0:
                return sender["sent_bytes"] == receiver["received_bytes"]
            return 0 < missing <= sender["retransmitted_packets"]

        def differences():
            ours, theirs = counters()
            return [(one, other) for one, other in ((ours, theirs), (theirs, ours)) if not balances(one, other)]
        harness.wait_until(lambda: not differences(), f"{case}: {counters()}", timeout=20)
        harness.expect(all(each["sent_packets"] > 0 for each in counters()), counters())
        program.kill()


def check_metrics(text, qpn):
    line = re.compile(r'urxe_[qc][pq]_[a-z_]+\{([a-z_]+="[^"]*",?)+\} [0-9.e+-]+')
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
    "no_answer": (["has not answered the request with PSN ", "RETRY_EXC_ERR"], []),
    "local_key": (["could not be carried out on this side", "no memory region", "LOC_PROT_ERR"], []),
    "modified": (["the application has moved it to ERR"], []),
}


def why():
    """Each failure is explained at both ends."""
    harness.isolate()
    for case, (ours, theirs) in WHY.items():
        program, left, right = start_failure(case)
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
                    ["--interval", "nan"], ["--interval", "1", "--count", "0"], ["--json", "--why"],
                    ["--json", "--prometheus"], ["--pid", "x"], ["word"],
                    ["--why", "--interval", "1"], ["--cq", "--wide"], ["--by", "qp"], ["--by", "process", "--json"]):
        done = run_stat(*options)
        harness.expect(done.returncode == 2 and done.stderr.startswith("urxe"), f"{options}: {done}")
    stat("--pid", os.getpid(), expected=1)
    stat("--qp", "0x10", expected=1)
    for options, words in ((["--qp", "16", "--device", "urxe_no"], "--device urxe_no, --qp 0x000010"),
                           (["--pid", str(os.getpid()), "--why"], f"--pid {os.getpid()}"),
                           (["--all", "--device", "urxe_no"], "matches --device urxe_no\n")):
        done = run_stat(*options)
        harness.expect(done.returncode == 1 and words in done.stderr and not done.stdout, f"{options}: {done}")
    nothing = json.loads(stat("--json", "--pid", os.getpid(), expected=1))
    harness.expect(nothing["devices"] == [] and nothing["ended"] == [], nothing)


def full():
    """A report that cannot be written is no success."""
    own_shared_files()
    program, _, _ = start_failure("bounds")
    for options in ([], ["--wide"], ["--cq"], ["--by", "process"], ["--json"], ["--prometheus"], ["--why"],
                    ["--interval", "0.1"]):
        with open("/dev/full", "w") as out:
            done = run_stat(*options, capture_output=False, stdout=out, stderr=subprocess.PIPE)
        harness.expect(done.returncode == 125 and "No space left on device" in done.stderr, f"{options}: {done}")
    program.kill()


def gone():
    """Somebody who watches a process learns that it has ended."""
    harness.isolate()
    program, _, _ = start_failure("modified")
    watcher = Process([harness.binary("urxe"), "stat", "--pid", program.pid, "--interval", "0.1"], name="watcher")
    harness.wait_until(lambda: "in a second" in watcher.output, "a second report")
    program.kill()
    harness.expect(watcher.wait() == 1, watcher.output)
    harness.expect(f"process {program.pid} has ended" in watcher.output, watcher.output)


def recovered():
    """The last error outlives RESET."""
    own_shared_files()
    program, left, right = start_failure("recovered")
    harness.wait_until(lambda: "RESET" in stat("--pid", program.pid, "--qp", left), "the state")
    said = stat("--why", "--qp", left, expected=1)
    harness.expect(all(word in said for word in ("RESET", "LAST ERROR", "remote access error", right)), said)
    qp = queue_pairs("--qp", left)[0]
    harness.expect(qp["error"] is None and qp["last_error"]["reason"] == "nak", qp)
    harness.expect(qp["last_error"]["request"] == "RDMA_WRITE" and qp["last_error"]["age_ms"] >= 0, qp)
    program.kill()


def survived():
    """What a queue pair goes on after is kept, too, and is no failure."""
    harness.isolate()
    program, _, right = start_failure("no_receive")
    harness.wait_until(lambda: stat("--pid", program.pid, "--qp", right).rstrip().endswith(" receive"), "what it waits for")
    said = stat("--why", "--qp", right)
    harness.expect("LAST TROUBLE" in said and "this side had no receive posted" in said, said)
    qp = queue_pairs("--qp", right)[0]
    harness.expect(qp["error"] is None and qp["last_trouble"]["reason"] == "no-receive", qp)
    program.kill()


def ended():
    """What has failed is explained after its end, however that was."""
    own_shared_files()
    for end, words in {"exit": "its process has ended", "destroy": "destroyed", "stay": "its process has ended"}.items():
        program, left, _ = start_failure("bounds", end)
        if end == "exit":
            program.wait()
        if end == "stay":
            harness.wait_until(lambda: "nak" in stat("--pid", program.pid, "--qp", left), "the report")
            program.kill()
        said = stat("--why", "--pid", program.pid, expected=1)
        harness.expect(said.count("queue pair 0x") == 2 and said.count(words) == 2, f"{end}: {said}")
        harness.expect(all(word in said for word in ("the peer has refused", "is not inside", left)), f"{end}: {said}")
        done = run_stat("--json", "--pid", program.pid)
        harness.expect(done.returncode == 0 and "no queue pair" not in done.stderr, done)
        report = json.loads(done.stdout)
        harness.expect([each["process_ended"] for each in report["ended"]] == [end != "destroy"] * 2, report)
        harness.expect("failed queue pairs that have ended" in run_stat().stderr, "a remark beside the table")
        if end == "destroy":  # Its files stay, and still tell of it.
            program.kill(signal.SIGTERM)
            program.wait()
            said = stat("--why", "--pid", program.pid, expected=1)
            harness.expect(said.count("its process has ended") == 2, said)
    found = subprocess.run(harness.urxe_run(["sh", "-c", "grep . /sys/class/infiniband/urxe_lo/diag_counters/*"],
                                            options=["--device", "lo"]),
                           capture_output=True, text=True, env=harness.environment(), timeout=harness.PATIENCE).stdout
    harness.expect("/sq_num_rae:3\n" in found and "/rq_num_rae:3\n" in found and "/sq_num_tree:0\n" in found, found)
    # One that has ended regularly leaves nothing.
    program, _, _ = start_failure("modified", "exit")
    program.wait()
    stat("--why", "--pid", program.pid, expected=1)
    harness.expect(json.loads(run_stat("--json", "--pid", program.pid).stdout)["ended"] == [], "no failure")


def other_namespace():
    """What has failed in a network namespace that is gone is not of the one that has got its number."""
    own_shared_files()
    failing = harness.urxe_run([harness.binary("urxe_qp_failures"), "bounds", "exit"], options=["--device", "lo"])
    done = subprocess.run(["unshare", "--net", "sh", "-c", 'readlink /proc/self/ns/net; ip link set lo up; exec "$@"',
                           "sh", *failing], capture_output=True, text=True, env=harness.environment())
    number = done.stdout.split()[0]
    harness.expect("done" in done.stdout and number.startswith("net:["), done)
    stat("--why", "--all", expected=1)
    stat("--why")
    look = 'test "$(readlink /proc/self/ns/net)" = "$1" || exit 77; exec "$2" stat --why'
    for _ in range(3000):
        again = subprocess.run(["unshare", "--net", "sh", "-c", look, "sh", number, harness.binary("urxe")],
                               capture_output=True, text=True, env=harness.environment(), timeout=harness.PATIENCE)
        if again.returncode != harness.SKIPPED:
            harness.expect(again.returncode == 0 and "no queue pair has failed" in again.stdout, again)
            return
    harness.skip(f"no other network namespace gets the number {number}")


def containers():
    """Two containers, in each of which the program is process 1."""
    harness.isolate()
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*inside, "true"], check=False, capture_output=True).returncode != 0:
        harness.skip("no PID namespaces can be made here")
    failing = [harness.binary("urxe_qp_failures"), "bounds", "stay"]
    run = harness.urxe_run(failing, options=["--device", "lo"])
    programs = [Process([*inside, *run], name=f"container {number}") for number in (1, 2)]
    for each in programs:
        harness.wait_until(lambda each=each: "done" in each.output or not each.running(), "a container's program")
    devices = json.loads(stat("--json"))["devices"]
    harness.expect([device["pid"] for device in devices] == [1, 1] and
                   devices[0]["pid_namespace"] != devices[1]["pid_namespace"], devices)
    series = [line.rpartition(" ")[0] for line in stat("--prometheus").splitlines() if not line.startswith("#")]
    harness.expect(len(set(series)) == len(series) and all(',pid_namespace="' in each for each in series), series)
    harness.expect(len(stat("--by", "process").splitlines()) == 3, "a line for each process")


def few_descriptors():
    """Who may open few files is not told that there is nothing."""
    own_shared_files()
    program, _, _ = start_failure("bounds")
    for files in (4, 5, 6):
        done = subprocess.run(["prlimit", f"--nofile={files}", "--", harness.binary("urxe"), "stat"], capture_output=True,
                              text=True, env=harness.environment(), timeout=harness.PATIENCE)
        seen = f" {program.pid} " in done.stdout
        harness.expect(seen or "(ulimit -n)" in done.stderr, f"{files}: {done}")
        harness.expect("no queue pair to show" not in done.stderr, f"{files}: {done}")
    program.kill()


def explanations(program):
    """What it says of its queue pairs."""
    return [line for line in program.output.splitlines() if line.startswith("urxe: ")]


def explain():
    """With --explain the program itself says why its queue pairs have failed: on stderr, once each, and only then."""
    harness.isolate()
    for end in ("exit", "destroy", "stay"):
        program, left, right = start_failure("bounds", end, options=["--explain"])
        if end != "exit":  # It has said so before its end.
            harness.wait_until(lambda: len(explanations(program)) >= 2, f"{end}: {program.output}")
            program.kill(signal.SIGTERM)
        program.wait()
        said = explanations(program)
        harness.expect(len(said) == 2, program.output)
        for qp, words in ((left, "the peer has refused a request"), (right, "the range is not inside")):
            harness.expect(sum(f"queue pair {qp} (RC) of urxe_lo" in line and words in line for line in said) == 1, said)
    for case, options in (("bounds", []), ("modified", ["--explain"])):
        program, _, _ = start_failure(case, "exit", options=options)
        program.wait()
        harness.expect("urxe: " not in program.output, program.output)
    # stdout is the program's alone.
    command = harness.urxe_run([harness.binary("urxe_qp_failures"), "bounds", "exit"],
                               options=["--device", "lo", "--explain"])
    done = subprocess.run(command, capture_output=True, text=True, env=harness.environment(), timeout=harness.PATIENCE)
    harness.expect("urxe: " not in done.stdout and done.stderr.count("urxe: ") == 2, done)


def explain_stock():
    """ib_write_bw, whose server is killed, says why it fails; urxe stat knows it after its end."""
    harness.need_programs("ib_write_bw")
    own_shared_files()
    server, client = start_bandwidth(options=["--explain"])
    server.kill(signal.SIGKILL)
    harness.expect(client.wait() != 0, client.output)
    said = explanations(client)
    harness.expect(len(said) == 1 and "the peer has not answered" in said[0] and "RETRY_EXC_ERR" in said[0], client.output)
    later = stat("--why", "--pid", client.pid, expected=1)
    harness.expect("its process has ended" in later and "the peer has not answered" in later, later)


def no_room():
    """A program that has no room to tell of its queue pairs runs, and stat says that it is missing."""
    harness.own_files()
    os.environ.pop("XDG_RUNTIME_DIR", None)
    harness.mount_tmpfs("/dev/shm")
    program, _, _ = start_failure("modified")
    with open("/dev/shm/filler", "wb", buffering=0) as filler:
        subprocess.run(["mount", "-o", "remount,size=4M", "/dev/shm"], check=True)
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
    other = Process(harness.urxe_run([harness.binary("urxe_qp_failures"), "modified"],
                                     options=["--device", "lo", "--no-shm"]), name="no room")
    harness.wait_until(lambda: "done" in other.output or not other.running(), "the program")
    harness.expect("done" in other.output, other.output)
    harness.expect("devices of processes left out, for which /dev/shm has no room: 1\n" in run_stat().stderr, run_stat())
    os.unlink("/dev/shm/filler")
    for each in (program, other):
        each.kill()


def stopped():
    """A process that is stopped is shown as it was, and as stopped."""
    harness.need_programs("ib_write_bw")
    harness.isolate()
    _server, client = start_bandwidth()
    client.kill(signal.SIGSTOP)
    seen = queue_pairs("--pid", client.pid)
    harness.expect(len(seen) == 1 and seen[0]["counters"]["sends_completed"] > 0, seen)
    harness.wait_until(lambda: " stopped " in stat("--pid", client.pid), "its state")
    harness.expect(json.loads(stat("--json", "--pid", client.pid))["devices"][0]["stopped"], "in JSON")
    harness.expect(" stopped " in stat("--wide", "--pid", client.pid), "in all columns")
    client.kill(signal.SIGCONT)
    harness.wait_until(lambda: " stopped " not in stat("--pid", client.pid), "that it goes on")


def idle():
    """What an idle process has told last is true, however old it is."""
    harness.isolate()
    program, _, right = start_failure("bounds")
    harness.wait_until(lambda: "refused" in stat("--qp", right), "the report")
    time.sleep(0.3)
    device = json.loads(stat("--json", "--pid", program.pid))["devices"][0]
    harness.expect(device["age_ms"] >= 200 and not device["stopped"], device)
    harness.expect("stopped" not in stat("--pid", program.pid), "it only sleeps")
    program.kill()


CASES = (balance, containers, ended, explain, explain_stock, few_descriptors, full, gone, idle, many, no_room, off,
         other_namespace, recovered, stopped, survived, traffic, why, wrong)
harness.main({each.__name__: each for each in CASES}[sys.argv[1]])
