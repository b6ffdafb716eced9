# SPDX-License-Identifier: BSD-2-Clause
"""What is measured: programs of perftest and urxe_qp_load under urxe, and the yardsticks beside them. Each function runs a
pair of programs once and returns a Sample, in microseconds or GB/s (10^9 bytes) if it does not say otherwise."""

import contextlib
import functools
import ipaddress
import json
import os
import re
import resource
import subprocess
import sys
import time
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import harness  # noqa: E402
from harness import Process  # noqa: E402

DPDK = os.path.join(harness.build_directory(), "lib", "liburxe-dpdk.so")
PATIENCE = 120  # Seconds for one pair.
TCP_SECONDS = 2
IDLE_SECONDS = 5
MTU = 4200  # Of the link between the two namespaces: a path MTU of 4096 fits.
MIB = 1 << 20
TYPICAL, AVERAGE = 4, 5  # columns of perftest's latencies
AVERAGE_BANDWIDTH, MESSAGE_RATE = 3, 4  # of its bandwidths: MiB/s, millions/s


class Sample(typing.NamedTuple):
    """cost: processor seconds that both programs used, from their start to their end, for a GB or, of latencies and
    message rates, for a million messages; None where nobody asks."""
    value: float
    cost: typing.Optional[float] = None


class Place:
    """Where the two programs of a pair are.

    name       lo: both in this network namespace; veth: the server here, the client in another one
    device     urxe's, for the server and the client
    server_ip  the server's address
    """

    def __init__(self, name, devices, server_ip, prefix=()):
        self.name, self.devices, self.server_ip, self._prefix = name, devices, server_ip, list(prefix)

    def run(self, server, client, port):
        """The client's output, and the processor seconds that both used."""
        before = _children_seconds()
        output = harness.run_pair(server, [*self._prefix, *client], port, timeout=PATIENCE)[1]
        return output, _children_seconds() - before


LO = Place("lo", ("urxe_lo", "urxe_lo"), "127.0.0.1")
# Two ports of DPDK, joined by shared memory; the programs exchange their numbers over lo.
MEMIF = Place("memif", ("urxe_memif0", "urxe_memif0"), "127.0.0.1")


class Rxe(typing.NamedTuple):
    """A device of the kernel's soft-RoCE, in the network namespace of process 1: both programs use it."""
    device: str
    address: str
    gid_index: str

    @staticmethod
    def find(device):
        folder = f"/sys/class/infiniband/{device}/ports/1/gids"
        harness.expect(os.path.isdir(folder), f"--rxe {device}: there is no such device")
        for index in sorted(os.listdir(folder), key=int):
            with open(os.path.join(folder, index), encoding="ascii") as file:
                gid = ipaddress.ip_address(file.read().strip())
            if gid.ipv4_mapped:
                return Rxe(device, str(gid.ipv4_mapped), index)
        harness.fail(f"--rxe {device}: it has no GID of an IPv4 address")

    def commands(self, words):
        """Of the server and the client."""
        server = ["nsenter", "--net=/proc/1/ns/net", *words, "-d", self.device, "-x", self.gid_index]
        return server, [*server, self.address]


rxe = None  # set by --rxe


@contextlib.contextmanager
def places(names):
    """Yields those of the places that can be had, by name; this process moves to a network namespace of its own."""
    found = {"lo": LO}
    if os.path.exists(DPDK):
        found["memif"] = MEMIF
    if not harness.unshare_network():
        print("without root there are no network namespaces: lo only, with whatever else uses it", flush=True)
        yield found
    elif "veth" in names:
        with harness.veth_pair(MTU) as (other, ours, _):
            yield {**found, "veth": Place("veth", ("urxe_urxa", "urxe_urxb"), ours, other.command([]))}
    else:
        yield found


def _children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memif(role, last):
    return ["--engine", "dpdk", "--dpdk-args",
            f"--vdev=net_memif0,role={role},id=0 -- address=10.44.0.{last}/24 mtu={MTU}"]


def _run_options(place, engine):
    """Of `urxe run`, for the server and the client."""
    if engine == "dpdk":
        return _memif("server", 1), _memif("client", 2)
    words = {"udp": ["--no-shm"], "shm": ["--shm"], "raw": ["--no-shm", "--engine", "raw"]}[engine]
    return tuple([*words, *only(device)] for device in place.devices)


def only(device):
    """Beside other interfaces the loopback interface is a device only if it is asked for."""
    return ["--device", device.removeprefix("urxe_")]


def _gid_index(place):
    """Of the IPv4 address: an interface's link-local address has the first one."""
    return "1" if place.name == "veth" else "0"


class Perftest(typing.NamedTuple):
    """How programs of perftest are run: further options, variables ("NAME=VALUE") of both, faults at both ends."""
    program: str
    options: tuple = ()
    variables: tuple = ()
    faults: str = ""

    def rows(self, place, engine):
        """The rows of results, as numbers, and the processor seconds that both ends used."""
        port = harness.free_port()
        words = ["env", *self.variables, self.program, "-p", str(port), "-F", *self.options]
        if engine == "rxe":
            server, client = rxe.commands(words)
        else:
            faults = ["--fault", self.faults] if self.faults else []
            server, client = (
                harness.urxe_run([*words, "-d", device, "-x", _gid_index(place)], [*options, *faults])
                for device, options in zip(place.devices, _run_options(place, engine)))
            client = [*client, place.server_ip]
        output, seconds = place.run(server, client, port)
        rows = re.findall(r"^ *\d+ +\d+ +[\d. \t]+$", output, re.M)
        harness.expect(rows, output)
        return [[float(field) for field in row.split()] for row in rows], seconds


def perftest_latency(program, size, iterations, *options, column=TYPICAL, variables=()):
    """size: None where the program has its own."""
    sizes = () if size is None else ("-s", str(size))
    pair = Perftest(program, (*sizes, "-n", str(iterations), *options), variables)

    def run(place, engine):
        rows, seconds = pair.rows(place, engine)
        return Sample(rows[-1][column], seconds / (2 * iterations / 1e6))
    return run


def perftest_bandwidth(program, size, *options, variables=(), faults=""):
    pair = Perftest(program, ("-s", str(size), "-D", "2", *options), variables, faults)

    def run(place, engine):
        rows, seconds = pair.rows(place, engine)
        size_run, messages = rows[-1][:2]
        # It prints MiB/s.
        return Sample(rows[-1][AVERAGE_BANDWIDTH] * MIB / 1e9, seconds / (size_run * messages / 1e9))
    return run


def perftest_message_rate(program, size, *options):
    """Millions a second."""
    pair = Perftest(program, ("-s", str(size), "-D", "2", *options))

    def run(place, engine):
        rows, seconds = pair.rows(place, engine)
        return Sample(rows[-1][MESSAGE_RATE], seconds / (rows[-1][1] / 1e6))
    return run


def worst_latency_ratio(program, other, iterations):
    """Of the typical latencies of all sizes, a program's divided by another's: the largest."""
    def run(place, engine):
        ours, theirs = (Perftest(name, ("-a", "-n", str(iterations))).rows(place, engine)[0] for name in (program, other))
        harness.expect([row[0] for row in ours] == [row[0] for row in theirs], "the two have other sizes")
        return Sample(max(one[TYPICAL] / another[TYPICAL] for one, another in zip(ours, theirs)))
    return run


def qp_load(key, *options, scale=1.0):
    """A number of urxe_qp_load's; it has both ends."""
    def run(place, engine):
        before = _children_seconds()
        command = harness.urxe_run([harness.binary("urxe_qp_load"), *options], _run_options(place, engine)[0])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE,
                              env=harness.environment(), check=False)
        harness.expect(done.returncode == 0, f"{' '.join(command)}\n{done.stdout}")
        found = json.loads(done.stdout.splitlines()[-1])
        seconds = _children_seconds() - before
        cost = seconds / (found["bytes"] / 1e9) if "bytes" in found else None
        return Sample(found[key] * scale, cost)
    return run


def idle_qp(qps):
    """The KiB of an idle queue pair without its send queue of one request. A second run with longer send queues measures
    the size of a request."""
    longest = 64

    def run(place, engine):
        resident = lambda depth: qp_load("kib_per_qp", "--pattern", "idle", "--qps", str(qps), "--depth", str(depth))(
            place, engine).value
        shortest = resident(1)
        return Sample(shortest - (resident(longest) - shortest) / (longest - 1))
    return run


def _udp_pingpong(*options):
    return float(subprocess.run([harness.binary("urxe_udp_pingpong"), *options], check=True, capture_output=True,
                                text=True).stdout)


def udp_pingpong(_place):
    """Two threads that spin on UDP sockets, with as many bytes as a small WRITE has."""
    return Sample(_udp_pingpong())


def udp_pingpong_as_engine(_place):
    """The same, with the system calls of the engine udp."""
    return Sample(_udp_pingpong("--as-engine"))


def udp_pingpong_asleep(_place):
    """The same, but the threads sleep until a datagram comes."""
    return Sample(_udp_pingpong("--asleep"))


def udp_trips(_place):
    """Millions of half round trips a second of two threads that spin."""
    return Sample(1 / _udp_pingpong())


def _memif_pingpong(*options):
    return Sample(float(subprocess.run([harness.binary("urxe_memif_pingpong"), *options], check=True,
                                       capture_output=True, text=True).stdout))


def memif_pingpong(_place):
    """Two processes that spin on a memif by DPDK alone, with the frames of a small WRITE and an ACK."""
    return _memif_pingpong()


def memif_stream(_place):
    """GB/s of two processes by DPDK alone, one of which sends the packets of messages of 1 MiB."""
    return _memif_pingpong("--stream", "3000")


def iperf3(place):
    port = harness.free_port()
    client, seconds = place.run(["iperf3", "-s", "-1", "-p", str(port)],
                                ["iperf3", "-c", place.server_ip, "-p", str(port), "-t", str(TCP_SECONDS), "-J"], port)
    received = json.loads(client)["end"]["sum_received"]
    return Sample(received["bits_per_second"] / 8e9, seconds / (received["bytes"] / 1e9))


@functools.cache
def _without_mpi():
    """One that knows MPI expects to be started by it if it has no terminal: -P 0 says no."""
    shown = subprocess.run(["ucx_perftest", "-h"], check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return ["-P", "0"] if "MPI mode" in shown.stdout else []


def _ucx(transports, test, size, iterations):
    """The fields of the line of results: iterations; latency: median, average, overall; bandwidth: average, overall. And
    processor seconds."""
    def run(place):
        port = harness.free_port()
        words = ["env", f"UCX_TLS={transports},self", "ucx_perftest", "-p", str(port), *_without_mpi()]
        client, seconds = place.run(words, [*words, place.server_ip, "-t", test, "-s", str(size), "-n", str(iterations), "-f"],
                                    port)
        rows = re.findall(r"^ +(\d+ +[\d.]+ .*)$", client, re.M)
        harness.expect(rows, client)
        return [float(field) for field in rows[-1].split()], seconds
    return run


def ucx_latency(transports, size, iterations):
    measure = _ucx(transports, "tag_lat", size, iterations)

    def run(place):
        fields, seconds = measure(place)
        return Sample(fields[1], seconds / (2 * iterations / 1e6))
    return run


def ucx_bandwidth(transports, size, iterations):
    measure = _ucx(transports, "tag_bw", size, iterations)

    def run(place):
        fields, seconds = measure(place)
        return Sample(fields[5] * MIB / 1e9, seconds / (size * iterations / 1e9))
    return run


def _ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def idle_percent(place, engine):
    """Processor time of a process that has a device open and waits, in per cent of one processor."""
    port = harness.free_port()
    server = Process(harness.urxe_run(["ibv_rc_pingpong", "-d", place.devices[0], "-g", _gid_index(place), "-e", "-p",
                                       str(port)], _run_options(place, engine)[0]))
    server.wait_for_listener(port)
    before = _ticks(server.pid)
    time.sleep(IDLE_SECONDS)
    used = _ticks(server.pid) - before
    server.kill()
    return Sample(100.0 * used / os.sysconf("SC_CLK_TCK") / IDLE_SECONDS)
