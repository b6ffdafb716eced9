#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Programs of one host that exchange packets through shared memory. usage: shm.py CASE"""

import os
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import Process

ITERATIONS = 5000  # On a machine with other programs that only compute one takes some milliseconds.


def run_pingpong(program, server_options, client_options, *arguments):
    """Returns the counters afterwards. A pingpong gives memory the time to take over."""
    harness.need_programs(program)
    port = harness.free_port()
    command = [program, "-d", "urxe_lo", "-g", "0", "-n", str(ITERATIONS), "-c", "-p", str(port), *arguments]
    outputs = harness.run_pair(harness.urxe_run(command, server_options),
                               harness.urxe_run([*command, "127.0.0.1"], client_options), port)
    for output in outputs:
        harness.expect("invalid data" not in output, output)
    found = harness.hw_counters("urxe_lo")
    harness.expect(found["retry_exceeded_err"] == 0, "retries were used up")
    return found


def expect_memory_used(found):
    """Nearly all packets of a long pingpong go through memory, and the counters say so on both sides."""
    harness.expect(found["shm_rcvd_pkts"] > ITERATIONS / 2, f"{found['shm_rcvd_pkts']} packets through memory")
    for unit in ("pkts", "bytes"):
        harness.expect(found[f"shm_sent_{unit}"] == found[f"shm_rcvd_{unit}"], f"{unit} were lost in memory")
    harness.expect(found["shm_sent_pkts"] <= found["sent_pkts"], "packets through memory count as packets, too")


def carries():
    """By default."""
    for program in ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"):
        before = harness.hw_counters("urxe_lo")
        found = run_pingpong(program, (), ("--shm",), *(["-s", "1024"] if "ud" in program else []))
        expect_memory_used({name: value - before[name] for name, value in found.items()})


def sleepers():
    """Both sides sleep until a completion's event comes."""
    expect_memory_used(run_pingpong("ibv_rc_pingpong", (), (), "-e"))


def ipv6():
    expect_memory_used(run_pingpong("ibv_rc_pingpong", (), (), "-g", "1"))


def off():
    """It is enough that one side does not want it."""
    for server, client in ((("--no-shm",), ("--no-shm",)), ((), ("--no-shm",)), (("--no-shm",), ())):
        found = run_pingpong("ibv_rc_pingpong", server, client)
        harness.expect(found["shm_sent_pkts"] == 0 and found["shm_rcvd_pkts"] == 0, f"through memory: {found}")
    for options, expected in (("--no-shm", "--shm"), "1\n"), (("--shm", "--no-shm"), "0\n"), ((), ""):
        found = Process(harness.urxe_run(["printenv", "URXE_SHM"], options), "printenv")
        found.wait()
        harness.expect(found.output == expected, f"{options}: URXE_SHM is '{found.output}'")
    port = harness.free_port()
    command = harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-p", str(port)])
    for output in harness.run_pair(command, [*command, "127.0.0.1"], port, env=harness.environment() | {"URXE_SHM": "no"}):
        said = [line for line in output.splitlines() if line.startswith("urxe:")]
        harness.expect(said == ["urxe: URXE_SHM is ignored: 'no': accepted are 0 and 1"], output)
    refused = Process(harness.urxe_run(["true"], ["--no-shm=0"]), "a value").wait()
    harness.expect(refused == 2, f"--no-shm=0: {refused}")


def killed():
    """The peer of a process that is killed gets the same error as over UDP; the next pair finds its way."""
    harness.need_programs("ib_write_bw")
    for victim in (0, 1):
        port = harness.free_port()
        command = harness.urxe_run(["ib_write_bw", "-d", "urxe_lo", "-x", "0", "-p", str(port), "-F", "-D", "60", "-u", "15"])
        pair = [Process(command, "server")]
        pair[0].wait_for_listener(port)
        pair.append(Process([*command, "127.0.0.1"], "client"))
        received = lambda: harness.hw_counters("urxe_lo")["shm_rcvd_pkts"]
        before = received()
        both_run = lambda: all(process.running() for process in pair)
        harness.wait_until(lambda: received() > before + 1000 or not both_run(), "packets through memory")
        harness.expect(both_run(), f"one ended by itself:\n{pair[0].output}\n{pair[1].output}")
        pair[victim].kill()
        code = pair[1 - victim].wait()
        harness.expect(code != 0, f"the other one ended with {code}")
    before = harness.hw_counters("urxe_lo")
    found = run_after_errors()
    expect_memory_used({name: value - before[name] for name, value in found.items()})


def run_after_errors():
    port = harness.free_port()
    command = harness.urxe_run(["ibv_rc_pingpong", "-d", "urxe_lo", "-g", "0", "-n", str(ITERATIONS), "-p", str(port)])
    harness.run_pair(command, [*command, "127.0.0.1"], port)
    return harness.hw_counters("urxe_lo")


def stopped():
    """A process that is stopped for a while misses nothing of a reliable connection."""
    harness.need_programs("ib_write_bw")
    port = harness.free_port()
    command = harness.urxe_run(["ib_write_bw", "-d", "urxe_lo", "-x", "0", "-p", str(port), "-F", "-D", "3", "-u", "18"])
    server = Process(command, "server")
    server.wait_for_listener(port)
    client = Process([*command, "127.0.0.1"], "client")
    harness.wait_until(lambda: harness.hw_counters("urxe_lo")["shm_rcvd_pkts"] > 1000, "packets through memory")
    server.kill(signal.SIGSTOP)
    time.sleep(0.5)
    server.kill(signal.SIGCONT)
    client.expect_success()
    server.expect_success()


def capture():
    """What is recorded is what the memory carries, with ICRCs, which the packets of the other side do not have."""
    harness.need_programs("tshark")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "shm.pcapng")
        expect_memory_used(run_pingpong("ibv_rc_pingpong", ["--capture", file], ()))
        subprocess.run([harness.binary("urxe_icrc_check"), file], check=True)
        frames = subprocess.run(["tshark", "-r", file, "-Y", "infiniband.bth.opcode && !_ws.malformed", "-T", "fields",
                                 "-e", "frame.number"], check=True, capture_output=True, text=True).stdout.split()
        harness.expect(len(frames) > ITERATIONS, f"tshark sees {len(frames)} RoCE packets")


CASES = {f.__name__: f for f in (carries, sleepers, ipv6, off, killed, stopped, capture)}


def test():
    harness.need_namespaces()
    harness.need_programs("ibv_rc_pingpong")
    CASES[sys.argv[1]]()


harness.main(test)
