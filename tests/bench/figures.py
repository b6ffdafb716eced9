# SPDX-License-Identifier: BSD-2-Clause
"""The figures that tests/bench/run measures, their columns, and what they are to be."""

import dataclasses
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
    rxe         the kernel's soft-RoCE can be measured by the same programs: a column beside those of the engines
    cost        what Sample.cost is a number of
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
    rxe: bool = False
    cost: str = ""


PER_GB, PER_MILLION = "CPU s/GB", "CPU s/million messages"
RXE = "rxe"


def _ucx_bandwidth(transports):
    return s.ucx_bandwidth(transports, MIB, 5000)


HOST, WIRE, DPDK = ("udp", "shm"), ("udp", "raw"), ("dpdk",)
_LARGE = {"UCX tcp": _ucx_bandwidth("tcp"), "UCX posix,cma": _ucx_bandwidth("posix,cma"), "iperf3": s.iperf3}


def _latency(name, program, place, engines, yardsticks=None, targets=(), options=(), iterations=50000, size=8):
    return Figure(name, place, "us", False, engines, s.perftest_latency(program, size, iterations, *options),
                  yardsticks or {}, targets, (program,), place == "lo", PER_MILLION)


def _bandwidth(name, program, size, place, engines, yardsticks=None, targets=(), options=()):
    return Figure(name, place, "GB/s", True, engines, s.perftest_bandwidth(program, size, *options), yardsticks or {},
                  targets, (program,), place == "lo", PER_GB)


def _beside(words, engines, measure):
    """Columns of the same engines, measured in another way: "udp WORDS"."""
    return {f"{engine} {words}": lambda place, engine=engine: measure(place, engine) for engine in engines}


def _each_beside(words, engines, factor):
    return tuple(Target(engine, f"{engine} {words}", factor) for engine in engines)


def _compared(figure, words, measure, factor):
    """The figure, with each engine beside itself measured in another way."""
    return dataclasses.replace(figure, yardsticks={**figure.yardsticks, **_beside(words, figure.engines, measure)},
                               targets=(*figure.targets, *_each_beside(words, figure.engines, factor)))


def _load(name, unit, more_is_better, key, *options, scale=1.0, targets=()):
    return Figure(name, "lo", unit, more_is_better, HOST, s.qp_load(key, *options, scale=scale), targets=targets,
                  cost=PER_GB)


def _at_most(most):
    return tuple(Target(engine, "", most) for engine in HOST)


def _average_write(**more):
    """The typical latency would hide what is done from time to time."""
    return s.perftest_latency("ib_write_lat", 8, 50000, column=s.AVERAGE, **more)


SILENT = {"variables": ("URXE_STAT=0",)}  # The programs publish nothing for `urxe stat`.
_WRITE_LATENCY = s.perftest_latency("ib_write_lat", 8, 50000)


def _write(size, *options, **more):
    return s.perftest_bandwidth("ib_write_bw", size, *options, **more)


def _many(count, seconds):
    words = ("--qps", str(count), "--seconds", str(seconds))
    return (
        _compared(_load(f"write 64 KiB, {count} QPs", "GB/s", True, "gb_per_s", *words), "1 QP",
                  s.qp_load("gb_per_s"), 0.8),
        _load(f"slowest of {count} QPs, of the mean", "", True, "slowest_of_mean", *words,
              targets=tuple(Target(engine, "", 0.5) for engine in HOST)),
    )


def _lossy(verb, loss, factor):
    program = f"ib_{verb}_bw"
    figure = Figure(f"{verb} 1 MiB, {loss} lost", "lo", "GB/s", True, ("udp",),
                    s.perftest_bandwidth(program, MIB, faults=f"loss={loss}"), needs=(program,), cost=PER_GB)
    return _compared(figure, "without loss", s.perftest_bandwidth(program, MIB), factor)


FIGURES = (
    _latency("write 8 B", "ib_write_lat", "lo", HOST,
             {"spinning UDP": s.udp_pingpong, "the same calls": s.udp_pingpong_as_engine},
             (Target("udp", "spinning UDP", 1.25), Target("udp", RXE, 0.6))),
    _latency("send 8 B", "ib_send_lat", "lo", HOST,
             {"spinning UDP": s.udp_pingpong, "UCX tcp": s.ucx_latency("tcp", 8, 20000),
              "UCX posix": s.ucx_latency("posix", 8, 200000)},
             (Target("udp", "spinning UDP", 1.25), Target("shm", "UCX posix", 2.0), Target("udp", RXE, 0.6))),
    _latency("send 8 B, asleep", "ib_send_lat", "lo", HOST, {"sleeping UDP": s.udp_pingpong_asleep},
             (Target("udp", "sleeping UDP", 1.25), Target("shm", "udp", 1.0)), options=("-e",), iterations=10000),
    _compared(_latency("read 8 B", "ib_read_lat", "lo", HOST, targets=(Target("udp", RXE, 0.6),)), "write",
              _WRITE_LATENCY, 2.2),
    _compared(_latency("atomic 8 B", "ib_atomic_lat", "lo", HOST, size=None), "write", _WRITE_LATENCY, 2.2),
    Figure("write / send latency, worst of all sizes", "lo", "", False, HOST,
           s.worst_latency_ratio("ib_write_lat", "ib_send_lat", 1000), targets=_at_most(1.3),
           needs=("ib_write_lat", "ib_send_lat")),
    Figure("write 64 B, rate", "lo", "M/s", True, HOST, s.perftest_message_rate("ib_write_bw", 64),
           {"spinning UDP": s.udp_trips}, (Target("udp", "spinning UDP", 12.0), Target("udp", RXE, 4.0)),
           ("ib_write_bw",), True, PER_MILLION),
    _bandwidth("write 64 KiB", "ib_write_bw", 64 * KIB, "lo", HOST),
    *(_compared(_bandwidth(f"write 64 KiB, {count} QPs", "ib_write_bw", 64 * KIB, "lo", HOST, options=("-q", str(count))),
                "1 QP", _write(64 * KIB), 0.8) for count in (16, 256)),
    *_many(1000, 3),
    *_many(10000, 8),
    _compared(_load("write 8 B, 1 of 10000 QPs", "us", False, "typical_us", "--pattern", "one", "--qps", "10000"), "1 QP",
              s.qp_load("typical_us", "--pattern", "one"), 1.1),
    Figure("an idle QP beyond its rings", "lo", "KiB", False, HOST, s.idle_qp(10000), targets=_at_most(4.0)),
    _load("10000 idle QPs, % of a CPU", "%", False, "cpu_percent", "--pattern", "idle", "--qps", "10000",
          targets=_at_most(1.0)),
    # Two processors are not enough for two threads and their peers' processes.
    _compared(_load("write 64 B within a process, 2 threads", "M/s", True, "messages_per_s", "--pattern", "within",
                    "--threads", "2", "--size", "64", scale=1e-6), "1 thread",
              s.qp_load("messages_per_s", "--pattern", "within", "--size", "64", scale=1e-6), 1.7),
    _compared(_load("write 64 KiB, target computes", "GB/s", True, "gb_per_s", "--target", "computes"), "target polls",
              s.qp_load("gb_per_s", "--target", "polls"), 0.7),
    _bandwidth("write 1 MiB", "ib_write_bw", MIB, "lo", HOST, _LARGE,
               (Target("udp", "UCX tcp", 1.3), Target("shm", "UCX posix,cma", 1.0), Target("udp", RXE, 4.0))),
    _bandwidth("send 1 MiB", "ib_send_bw", MIB, "lo", HOST, _LARGE,
               (Target("udp", "UCX tcp", 1.3), Target("shm", "UCX posix,cma", 1.0), Target("udp", RXE, 4.0))),
    _compared(_bandwidth("read 1 MiB", "ib_read_bw", MIB, "lo", HOST, _LARGE,
                         (Target("shm", "UCX posix,cma", 1.0), Target("udp", RXE, 4.0))), "write", _write(MIB), 0.9),
    _compared(_bandwidth("send 4 KiB, UD", "ib_send_bw", 4 * KIB, "lo", HOST, options=("-c", "UD")), "RC",
              s.perftest_bandwidth("ib_send_bw", 4 * KIB), 0.6),
    _compared(_bandwidth("send 1 MiB, UC", "ib_send_bw", MIB, "lo", HOST, options=("-c", "UC")), "RC",
              s.perftest_bandwidth("ib_send_bw", MIB), 0.9),
    _lossy("write", "0.1%", 0.85),
    _lossy("write", "1%", 0.5),
    _lossy("read", "0.1%", 0.85),
    _lossy("read", "1%", 0.5),
    _compared(Figure("write 8 B, publishing", "lo", "us", False, HOST, _average_write(), needs=("ib_write_lat",)),
              "without stat", _average_write(**SILENT), 1.02),
    _compared(_bandwidth("write 64 KiB, publishing", "ib_write_bw", 64 * KIB, "lo", HOST), "without stat",
              _write(64 * KIB, **SILENT), 0.98),
    _latency("write 8 B between hosts", "ib_write_lat", "veth", WIRE, targets=(Target("raw", "udp", 0.75),)),
    _bandwidth("write 1 MiB between hosts", "ib_write_bw", MIB, "veth", WIRE, {"iperf3": s.iperf3},
               (Target("raw", "udp", 1.0),)),
    _latency("write 8 B over memif", "ib_write_lat", "memif", DPDK,
             {"udp on lo": lambda _: _WRITE_LATENCY(s.LO, "udp"), "DPDK alone": s.memif_pingpong},
             (Target("dpdk", "udp on lo", 0.35),)),
    _bandwidth("write 1 MiB over memif", "ib_write_bw", MIB, "memif", DPDK,
               {"udp on lo": lambda _: _write(MIB)(s.LO, "udp"), "DPDK alone": s.memif_stream},
               (Target("dpdk", "udp on lo", 1.3),)),
    Figure("idle process, % of a CPU", "lo", "%", False, HOST, s.idle_percent, targets=_at_most(1.0),
           needs=("ibv_rc_pingpong",)),
)

PROGRAMS = {"iperf3": "iperf3", "UCX tcp": "ucx_perftest", "UCX posix": "ucx_perftest", "UCX posix,cma": "ucx_perftest"}
