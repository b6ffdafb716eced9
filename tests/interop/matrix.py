#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The matrix of interoperability: every cell is a program on both ends of a link, urxe on the near one.

usage: matrix.py [--peer PEER] [--only PATTERN]... [--except PATTERN]... [--mtu BYTES] [--engine ENGINE]
                 [--report FILE]... [--list]

  --peer      guest (the default: rxe in a guest of QEMU's emulation), urxe, ssh:HOST, or another that peers.py knows
  --only      cells whose name contains the pattern, or matches it where it has a wildcard
  --except    not these
  --mtu       of both interfaces, in bytes, for all cells; otherwise it changes with what they need. That of a host
              reached by ssh is left as it is
  --engine    of urxe's ends: auto (the default), udp, raw or dpdk (with net_af_packet), as `urxe run` takes it
  --report    writes the results to a file, as JSON where it ends in .json, otherwise as a Markdown table
  --list      only names the cells

Prints a line for each cell, for a failed one also what both ends' programs wrote, the devices' counters that changed
and what the peer's kernel said; then a table, also where it is interrupted. Ends with 0 where none has failed, with 77
where all were skipped. A cell in which rxe's requester stalls (stalls.py) runs again, up to twice.
"""

import argparse
import contextlib
import fnmatch
import glob
import importlib
import io
import os
import signal
import sys
import time
import traceback

import cells
import guest
import peers
import reports
import stalls
from remote import AgentLost, harness
from reports import FAILED, OK, SKIPPED, STALLED, Result

RERUNS = 2  # Of a cell in which rxe's requester stalls.
PEER_ENDS = 30  # Seconds that a program may take to notice that the other one has ended.
INTERRUPTS = []  # Signals that asked for the end. Python drops the exception if one comes during a __del__.


def load_cells():
    """Imports every module of cells beside this one; returns the cells."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in sorted(glob.glob(os.path.join(here, "cells_*.py"))):
        importlib.import_module(os.path.basename(path).removesuffix(".py"))
    return cells.all_cells()


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, p if "*" in p or "?" in p else f"*{p}*") for p in patterns)


def chosen(arguments):
    return [cell for cell in load_cells()
            if (not arguments.only or matches(cell.name, arguments.only)) and not matches(cell.name, arguments.leave_out)]


class Runner:
    """Runs cells on one link, and keeps their results."""

    def __init__(self, link, fixed_mtu=False):
        """fixed_mtu: leave the interfaces' MTU as it is."""
        self._link, self._fixed_mtu = link, fixed_mtu or link.fixed_mtu
        self._mtu = min(side.mtu for side in link)
        self._counters = [side.counters() for side in link]
        self.results = []

    def run_all(self, wanted):
        """Cells that need the same MTU run together. Where the peer is lost, those that are left fail."""
        for cell in sorted(wanted, key=lambda each: each.mtu):
            if INTERRUPTS:
                raise KeyboardInterrupt
            try:
                self._record(cell, *self._run(cell))
            except AgentLost as lost:
                self._record(cell, FAILED, 0, str(lost))
                for left in wanted:
                    if left.name not in [result.name for result in self.results]:
                        self._record(left, FAILED, 0, "the peer was lost before")
                return

    def _record(self, cell, outcome, seconds, text, counters=(), stalled=0):
        """text: why skipped, or what is to be shown of a failure. stalled: runs before that stalled, or with it."""
        reason = text if outcome == SKIPPED else ""
        self.results.append(Result(cell.name, outcome, round(seconds, 2), reason, list(counters), stalled))
        print(reports.line(self.results[-1]), flush=True)
        if outcome == FAILED:
            print(_indented(text.splitlines()), end="", flush=True)

    def _run(self, cell):
        """(outcome, seconds, text, counters, stalled)"""
        for need in cell.needs:
            missing = need(*self._link)
            if missing:
                return SKIPPED, 0, missing
        if self._fixed_mtu and self._mtu < cell.mtu:
            return SKIPPED, 0, f"the link carries {self._mtu} bytes, {cell.mtu} are needed"
        self._set_mtu(cell.mtu)
        for stalled in range(1 + RERUNS):
            outcome, *rest = self._run_once(cell)
            if outcome != STALLED:
                return outcome, *rest, stalled
            seconds, text, _ = rest
            print(reports.stall_line(cell.name, seconds, again=stalled < RERUNS))
            print(_indented(dict.fromkeys(stalls.failures(text))), end="", flush=True)
        return FAILED, *rest, 1 + RERUNS

    def _run_once(self, cell):
        """(outcome, seconds, text, counters)"""
        said = io.StringIO()
        try:
            return self._run_saying(cell, said)
        except AgentLost as lost:
            raise AgentLost(f"{said.getvalue()}{lost}") from lost

    def _run_saying(self, cell, said):
        """As _run_once(); output goes to `said`."""
        with only_new_processes(), contextlib.redirect_stdout(said):
            start = time.monotonic()
            outcome = _outcome(cell, *self._link)
            seconds = time.monotonic() - start
            if outcome == FAILED and self._has_stalled(self._counters):
                outcome = STALLED
            if outcome in (FAILED, STALLED) and isinstance(self._link.far, peers.AgentSide):
                self._show_peer()
            # A server that goes on may have the device for itself (DPDK): nobody else could read its counters.
            harness.Process.kill_all()
            changed = self._changed_counters()
            if outcome in (FAILED, STALLED):
                self._explain(changed)
        text = said.getvalue()
        if outcome == SKIPPED:
            text = text.strip().split("\n")[-1].removeprefix("SKIPPED: ")
        return outcome, seconds, text, changed

    def _has_stalled(self, before):
        """Whether a failed cell shows a stall of rxe's requester; before: the counters before the cell."""
        near, far = self._link
        programs = list(harness.Process._all)
        if (near.name, far.name) != ("urxe", "rxe") or not stalls.may_be_stall(each.output for each in programs):
            return False
        deadline = time.monotonic() + PEER_ENDS
        while any(each.running() for each in programs) and time.monotonic() < deadline:
            time.sleep(0.1)
        theirs, ours = ([each.output for each in programs if far.owns(each) == wanted] for wanted in (True, False))
        return len(theirs) == len(ours) == 1 and stalls.is_stall(theirs[0], ours[0], before[1], far.counters())

    def _set_mtu(self, mtu):
        if self._fixed_mtu or mtu == self._mtu:
            return
        self._link.set_mtu(mtu)
        self._mtu = mtu

    def _changed_counters(self):
        """For each end, those that have changed since it was called last."""
        before, self._counters = self._counters, [side.counters() for side in self._link]
        return [_difference(old, new) for old, new in zip(before, self._counters)]

    def _explain(self, changed):
        """Prints what may tell why a cell has failed."""
        shown = sys.stdout.getvalue()
        for process in list(harness.Process._all):
            if process.output and process.output not in shown:
                process.show()
        for side, counters in zip(self._link, changed):
            print(f"counters of {side.name} ({side.device}) that changed: {counters}")

    def _show_peer(self):
        """Before its programs are ended: if one cannot be killed the peer is lost, and nobody can ask it any more."""
        print(f"counters of {self._link.far.name} before its programs were ended, that had changed: "
              f"{_difference(self._counters[1], self._link.far.counters())}")
        print("the end of the peer's dmesg:")
        print(self._link.far.start_plain(["sh", "-c", "dmesg | tail -n 15"]).expect_success())


def _indented(lines):
    return "".join(f"    {line}\n" for line in lines)


def _difference(old, new):
    return {name: value - old.get(name, 0) for name, value in new.items() if value != old.get(name, 0)}


def _outcome(cell, near, far):
    try:
        cell.run(near, far)
        return OK
    except SystemExit as end:  # harness.fail and harness.skip
        return SKIPPED if end.code == harness.SKIPPED else FAILED
    except AgentLost:
        raise
    except Exception:  # The cell's own mistake must not end the others.
        traceback.print_exc(file=sys.stdout)
        return FAILED


@contextlib.contextmanager
def only_new_processes():
    """Those started within are ended and forgotten, and a failure shows no others."""
    earlier = harness.Process._all[:]
    harness.Process._all.clear()
    try:
        yield
    finally:
        with contextlib.suppress(AgentLost):
            harness.Process.kill_all()
        harness.Process._all[:] = earlier


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default="guest")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--except", action="append", default=[], dest="leave_out")
    parser.add_argument("--mtu", type=int)
    parser.add_argument("--engine", choices=["auto", "udp", "raw", "dpdk"])
    parser.add_argument("--report", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def check(arguments, wanted):
    """Whatever would else be found wrong only after a boot, or after all cells."""
    names = [cell.name for cell in load_cells()]
    for pattern in arguments.only + arguments.leave_out:
        if not any(matches(name, [pattern]) for name in names):
            harness.fail(f"no cell's name has {pattern!r} in it: --list names them")
    if not wanted:
        harness.fail("nothing is left to run")
    if arguments.mtu is not None and not guest.LEAST_MTU <= arguments.mtu <= guest.HOST_MTU:
        harness.fail(f"--mtu must be from {guest.LEAST_MTU} to {guest.HOST_MTU}")
    for path in arguments.report:
        try:
            with open(path, "a", encoding="utf-8"):
                pass
        except OSError as error:
            harness.fail(f"--report: {path}: {error.strerror}")
    if not os.path.exists(harness.binary("urxe")):
        harness.fail(f"{harness.binary('urxe')} is not there: build the project with its tests first (tests/run, or "
                     "URXE_BUILD names the build directory)")


def run_cells(arguments, wanted):
    """The results, also where somebody ends the run before its time."""
    start = time.monotonic()
    results = []
    if arguments.engine:
        if arguments.engine == "raw":
            harness.need_raw_engine()
        os.environ["URXE_ENGINE"] = arguments.engine  # every program of urxe's sides inherits it
    try:
        with peers.link(arguments.peer, arguments.mtu or cells.ETHERNET_MTU) as link:
            near, far = (f"{side.name} ({side.device})" for side in link)
            print(f"{near} and {far}: {len(wanted)} cells; ready after {time.monotonic() - start:.0f} s", flush=True)
            runner = Runner(link, fixed_mtu=arguments.mtu is not None)
            results = runner.results
            runner.run_all(wanted)
    except AgentLost as lost:
        harness.fail(str(lost))
    except KeyboardInterrupt:
        print(f"interrupted: {len(wanted) - len(results)} cells were not run", flush=True)
        sys.exit(130)
    finally:
        if results:
            print(reports.summary(results, time.monotonic() - start), flush=True)
            for path in arguments.report:
                reports.write(path, arguments.peer, results)
    return results


def interrupt(number, _):
    INTERRUPTS.append(number)
    raise KeyboardInterrupt


def main():
    arguments = parse()
    wanted = chosen(arguments)
    if arguments.list:
        print("".join(f"{cell.name}\n" for cell in wanted), end="")
        return
    check(arguments, wanted)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)  # An exit would be taken for a cell's.
    outcomes = {result.outcome for result in run_cells(arguments, wanted)}
    if FAILED in outcomes:
        sys.exit(1)
    if outcomes == {SKIPPED}:
        harness.skip("every cell was skipped")


if __name__ == "__main__":
    harness.main(main)
