# SPDX-License-Identifier: BSD-2-Clause
"""The figures that tests/bench/run measures, their columns, and what they are to be."""

import dataclasses
import functools
import typing

import subjects as s

KIB, MIB = 1 << 10, 1 << 20


@dataclasses.dataclass
class Target:
    """The column's median is to be at most (less is better) or at least (more is better) so many times the other's; an
    empty name: times 1."""
    column: str
    other: str
    factor: float


@dataclasses.dataclass
class Figure:
    """One line of the table.

    measure     run(place, engine) for each engine: a column of its own
    yardsticks  further columns by name: run(place)
    needs       programs without which the figure is left out; a yardstick whose program is missing is left out alone
    """
    name: str
    place: str
    unit: str
    more_is_better: bool
    engines: tuple
    measure: typing.Callable
    yardsticks: dict = dataclasses.field(default_factory=dict)
    targets: tuple = ()
    needs: tuple = ()


def _ucx_bandwidth(transports):
    return s.ucx_bandwidth(transports, MIB, 5000)


HOST, WIRE = ("udp", "shm"), ("udp", "raw")
_LARGE = {"UCX tcp": _ucx_bandwidth("tcp"), "UCX posix,cma": _ucx_bandwidth("posix,cma"), "iperf3": s.iperf3}


def _latency(name, program, place, engines, yardsticks=None, targets=(), options=(), iterations=50000):
    return Figure(name, place, "us", False, engines, s.perftest_latency(program, 8, iterations, *options),
                  yardsticks or {}, targets, (program,))


def _bandwidth(name, program, size, place, engines, yardsticks=None, targets=(), options=()):
    return Figure(name, place, "GB/s", True, engines, s.perftest_bandwidth(program, size, *options), yardsticks or {},
                  targets, (program,))


SILENT = " without stat"  # of a column: the programs publish nothing for `urxe stat`


def _silent(measure):
    """measure(variables=...) returns run(place, engine)."""
    run = measure(variables=("URXE_STAT=0",))
    return {engine + SILENT: lambda place, engine=engine: run(place, engine) for engine in HOST}


def _average_write(**more):
    """The typical latency would hide what is done from time to time."""
    return s.perftest_latency("ib_write_lat", 8, 50000, column=s.AVERAGE, **more)


def _beside_silent(factor):
    return tuple(Target(engine, engine + SILENT, factor) for engine in HOST)


FIGURES = (
    _latency("write 8 B", "ib_write_lat", "lo", HOST, {"spinning UDP": s.udp_pingpong},
             (Target("udp", "spinning UDP", 1.25),)),
    _latency("send 8 B", "ib_send_lat", "lo", HOST,
             {"UCX tcp": s.ucx_latency("tcp", 8, 20000), "UCX posix": s.ucx_latency("posix", 8, 200000)},
             (Target("shm", "UCX posix", 2.0),)),
    _latency("send 8 B, asleep", "ib_send_lat", "lo", HOST, targets=(Target("shm", "udp", 1.0),), options=("-e",),
             iterations=10000),
    _latency("read 8 B", "ib_read_lat", "lo", HOST),
    _bandwidth("write 64 KiB", "ib_write_bw", 64 * KIB, "lo", HOST),
    _bandwidth("write 64 KiB, 16 QPs", "ib_write_bw", 64 * KIB, "lo", HOST, options=("-q", "16")),
    _bandwidth("write 1 MiB", "ib_write_bw", MIB, "lo", HOST, _LARGE,
               (Target("udp", "UCX tcp", 1.3), Target("shm", "UCX posix,cma", 1.0))),
    _bandwidth("send 1 MiB", "ib_send_bw", MIB, "lo", HOST, _LARGE,
               (Target("udp", "UCX tcp", 1.3), Target("shm", "UCX posix,cma", 1.0))),
    _bandwidth("read 1 MiB", "ib_read_bw", MIB, "lo", HOST, _LARGE, (Target("shm", "UCX posix,cma", 1.0),)),
    Figure("write 8 B, publishing", "lo", "us", False, HOST, _average_write(), _silent(_average_write), _beside_silent(1.02),
           ("ib_write_lat",)),
    _bandwidth("write 64 KiB, publishing", "ib_write_bw", 64 * KIB, "lo", HOST,
               _silent(functools.partial(s.perftest_bandwidth, "ib_write_bw", 64 * KIB)), _beside_silent(0.98)),
    _latency("write 8 B between hosts", "ib_write_lat", "veth", WIRE, targets=(Target("raw", "udp", 0.75),)),
    _bandwidth("write 1 MiB between hosts", "ib_write_bw", MIB, "veth", WIRE, {"iperf3": s.iperf3},
               (Target("raw", "udp", 1.0),)),
    Figure("idle process, % of a CPU", "lo", "%", False, HOST, s.idle_percent,
           targets=(Target("udp", "", 1.0), Target("shm", "", 1.0)), needs=("ibv_rc_pingpong",)),
)

PROGRAMS = {"iperf3": "iperf3", "UCX tcp": "ucx_perftest", "UCX posix": "ucx_perftest", "UCX posix,cma": "ucx_perftest"}
