# SPDX-License-Identifier: BSD-2-Clause
"""What is measured: programs of perftest under urxe, and the yardsticks beside them. Each function runs a pair of programs
once and returns one number: microseconds, or GB/s (10^9 bytes)."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import harness  # noqa: E402
from harness import Process  # noqa: E402

PATIENCE = 120  # Seconds for one pair.
TCP_SECONDS = 2
IDLE_SECONDS = 5
MTU = 4200  # Of the link between the two namespaces: a path MTU of 4096 fits.
MIB = 1 << 20
TYPICAL, AVERAGE = 4, 5  # columns of perftest's latencies


class Place:
    """Where the two programs of a pair are.

    name       lo: both in this network namespace; veth: the server here, the client in another one
    device     urxe's, for the server and the client
    server_ip  the server's address
    """

    def __init__(self, name, devices, server_ip, prefix=()):
        self.name, self.devices, self.server_ip, self._prefix = name, devices, server_ip, list(prefix)

    def run(self, server, client, port):
        """The client's output."""
        return harness.run_pair(server, [*self._prefix, *client], port, timeout=PATIENCE)[1]


@contextlib.contextmanager
def places():
    """Yields all places, by name; this process moves to a network namespace of its own."""
    found = {"lo": Place("lo", ("urxe_lo", "urxe_lo"), "127.0.0.1")}
    if not harness.unshare_network():
        print("without root there are no network namespaces: lo only, with whatever else uses it", flush=True)
        yield found
        return
    with harness.veth_pair(MTU) as (other, ours, _):
        found["veth"] = Place("veth", ("urxe_urxa", "urxe_urxb"), ours, other.command([]))
        yield found


def engine_options(engine):
    return {"udp": ["--no-shm"], "shm": ["--shm"], "raw": ["--no-shm", "--engine", "raw"]}[engine]


def only(device):
    """Beside other interfaces the loopback interface is a device only if it is asked for."""
    return ["--device", device.removeprefix("urxe_")]


def _perftest_row(place, engine, program, options, variables):
    """The fields of the last row of results."""
    port = harness.free_port()
    commands = [harness.urxe_run(["env", *variables, program, "-d", device, "-x", _gid_index(place), "-p", str(port),
                                  "-F", *options], [*engine_options(engine), *only(device)]) for device in place.devices]
    client = place.run(commands[0], [*commands[1], place.server_ip], port)
    rows = re.findall(r"^ *\d+ +\d+ +[\d. \t]+$", client, re.M)
    harness.expect(rows, client)
    return [float(field) for field in rows[-1].split()]


def _gid_index(place):
    """Of the IPv4 address: an interface's link-local address has the first one."""
    return "0" if place.name == "lo" else "1"


def perftest_latency(program, size, iterations, *options, column=TYPICAL, variables=()):
    """variables: for both programs, "NAME=VALUE"."""
    def run(place, engine):
        row = _perftest_row(place, engine, program, ["-s", str(size), "-n", str(iterations), *options], variables)
        return row[column]
    return run


def perftest_bandwidth(program, size, *options, variables=()):
    def run(place, engine):
        row = _perftest_row(place, engine, program, ["-s", str(size), "-D", "2", *options], variables)
        return row[3] * MIB / 1e9  # It prints MiB/s.
    return run


def udp_pingpong(_place):
    """Two threads that spin on UDP sockets, with as many bytes as a small WRITE has."""
    return float(subprocess.run([harness.binary("urxe_udp_pingpong")], check=True, capture_output=True,
                                text=True).stdout)


def iperf3(place):
    port = harness.free_port()
    client = place.run(["iperf3", "-s", "-1", "-p", str(port)],
                       ["iperf3", "-c", place.server_ip, "-p", str(port), "-t", str(TCP_SECONDS), "-J"], port)
    return json.loads(client)["end"]["sum_received"]["bits_per_second"] / 8e9


def _ucx(transports, test, size, iterations):
    """The fields of the line of results: iterations; latency: median, average, overall; bandwidth: average, overall."""
    def run(place):
        port = harness.free_port()
        words = ["env", f"UCX_TLS={transports},self", "ucx_perftest", "-p", str(port)]
        client = place.run(words, [*words, place.server_ip, "-t", test, "-s", str(size), "-n", str(iterations), "-f"],
                           port)
        rows = re.findall(r"^ +(\d+ +[\d.]+ .*)$", client, re.M)
        harness.expect(rows, client)
        return [float(field) for field in rows[-1].split()]
    return run


def ucx_latency(transports, size, iterations):
    measure = _ucx(transports, "tag_lat", size, iterations)
    return lambda place: measure(place)[1]


def ucx_bandwidth(transports, size, iterations):
    measure = _ucx(transports, "tag_bw", size, iterations)
    return lambda place: measure(place)[5] * MIB / 1e9


def _ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def idle_percent(place, engine):
    """Processor time of a process that has a device open and waits, in per cent of one processor."""
    port = harness.free_port()
    server = Process(harness.urxe_run(["ibv_rc_pingpong", "-d", place.devices[0], "-g", _gid_index(place), "-e", "-p",
                                       str(port)], [*engine_options(engine), *only(place.devices[0])]))
    server.wait_for_listener(port)
    before = _ticks(server.pid)
    time.sleep(IDLE_SECONDS)
    used = _ticks(server.pid) - before
    server.kill()
    return 100.0 * used / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS
