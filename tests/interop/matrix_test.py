#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The matrix's runner tells what works from what does not, and says why."""

import contextlib
import io
import json
import os
import signal
import socket
import sys
import tempfile
import threading

import cells
import matrix
import peers
import remote
import reports
import stalls_test
from remote import harness


def fine(near, far):
    near.run(["true"])
    far.run(["true"])


def breaks(near, far):
    far.start(["sleep", "1000"], name="left behind")
    near.run(["sh", "-c", "echo what the program says; exit 3"])


def raises(_near, _far):
    raise ValueError("a mistake in the cell")


def skips(_near, _far):
    harness.skip("it is Monday")


def lacks(_near, _far):
    return "nobody has that"


def run():
    """(results, what was printed) of one cell of each kind."""
    wanted = [cells.Cell("a.fine", fine), cells.Cell("a.breaks", breaks), cells.Cell("a.raises", raises),
              cells.Cell("b.skips", skips), cells.Cell("b.needs", fine, (lacks,)), cells.Cell("b.jumbo", fine, (), 9000)]
    said = io.StringIO()
    with peers.link("urxe") as link, contextlib.redirect_stdout(said):
        runner = matrix.Runner(link, fixed_mtu=True)
        runner.run_all(wanted)
    return {result.name: result for result in runner.results}, said.getvalue()


def loses_its_peer(_near, _far):
    print("what the cell printed before")
    raise remote.AgentLost("the peer hangs")


def shows_what_was_printed_before_a_loss():
    said = io.StringIO()
    with peers.link("urxe") as link, contextlib.redirect_stdout(said):
        runner = matrix.Runner(link, fixed_mtu=True)
        runner.run_all([cells.Cell("a.lost", loses_its_peer), cells.Cell("a.next", fine)])
    harness.expect([result.outcome for result in runner.results] == [reports.FAILED] * 2, runner.results)
    for words in ("what the cell printed before", "the peer hangs", "the peer was lost before"):
        harness.expect(words in said.getvalue(), f"no {words!r} in:\n{said.getvalue()}")


def serve_without_killing(stream):
    """An agent whose processes do not end, and have a stack."""
    for line in stream:
        request = json.loads(line)
        answer = {"start": {"pid": 7}, "read": {"files": {"/proc/7/stack": "rxe_destroys_its_queue_pair"}}}.get(request["op"])
        if answer:
            stream.write(json.dumps({"id": request["id"], **answer}).encode() + b"\n")


def shows_the_stack_of_a_process_that_does_not_end():
    ends = [end.makefile("rwb", buffering=0) for end in socket.socketpair()]
    threading.Thread(target=serve_without_killing, args=(ends[1],), daemon=True).start()
    agent = remote.Agent(ends[0], ends[0], "there")
    process = agent.start(["ib_read_bw"])
    remote.KILL_PATIENCE, before = 0.1, remote.KILL_PATIENCE
    try:
        process.kill()
        harness.fail("a process that does not end was killed")
    except remote.AgentLost as lost:
        harness.expect("ib_read_bw" in str(lost) and "rxe_destroys_its_queue_pair" in str(lost), str(lost))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            harness.Process.show_others()
        harness.expect("there: ib_read_bw (ended with None)" in printed.getvalue(), printed.getvalue())
    finally:
        remote.KILL_PATIENCE = before
        remote.forget(process)


def test():
    shows_what_was_printed_before_a_loss()
    shows_the_stack_of_a_process_that_does_not_end()
    results, printed = run()
    outcomes = {name: result.outcome for name, result in results.items()}
    harness.expect(outcomes == {"a.fine": reports.OK, "a.breaks": reports.FAILED, "a.raises": reports.FAILED,
                                "b.skips": reports.SKIPPED, "b.needs": reports.SKIPPED, "b.jumbo": reports.SKIPPED}, outcomes)
    harness.expect(results["b.skips"].reason == "it is Monday", results)
    harness.expect(results["b.needs"].reason == "nobody has that", results)
    harness.expect("9000" in results["b.jumbo"].reason, results)
    for words in ("what the program says", "ended with 3", "a mistake in the cell", "left behind"):
        harness.expect(words in printed, f"no {words!r} in:\n{printed}")
    table = reports.summary(list(results.values()), 1)
    harness.expect("FAILED: a.breaks" in table and "it is Monday" in table, table)
    harness.expect("| a.fine |  |  | ok |" in reports.markdown("urxe", list(results.values())), "no such row")
    harness.expect(not any("left behind" in process.name for process in harness.Process._all), "a process was left")
    stalls_test.test()
    refuses_what_cannot_be()
    heeds_a_signal_whose_exception_was_lost()
    for number in (signal.SIGINT, signal.SIGTERM):
        keeps_what_is_done_when_interrupted(number)


def heeds_a_signal_whose_exception_was_lost():
    """The defect: the signal came during a __del__, and all cells were run."""
    with contextlib.suppress(KeyboardInterrupt):
        matrix.interrupt(signal.SIGINT, None)
    try:
        run()
    except KeyboardInterrupt:
        return
    finally:
        matrix.INTERRUPTS.clear()
    harness.fail("the cells were run all the same")


def matrix_process(*arguments):
    return harness.Process([sys.executable, "-B", matrix.__file__, "--peer", "urxe", *arguments])


def refuses_what_cannot_be():
    for arguments, said in ((["--only", "rc.send/", "--only", "rc.snd"], "no cell's name has 'rc.snd' in it"),
                            (["--only", "rc.send/", "--report", "/nonexistent/x.md"], "--report: /nonexistent/x.md"),
                            (["--only", "rc.send/", "--mtu", "100"], "--mtu must be")):
        process = matrix_process(*arguments)
        harness.expect(process.wait() == 1 and said in process.output, f"{arguments}: {process.output}")


def keeps_what_is_done_when_interrupted(number):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        process = matrix_process("--only", "rc.*", "--report", report)
        harness.wait_until(lambda: "\nok " in process.output or not process.running(), "the first cell")
        os.kill(process.pid, number)
        harness.expect(process.wait() == 130, process.output)
        harness.expect("cells were not run" in process.output and "\nall " in process.output, process.output)
        with open(report, encoding="utf-8") as file:
            harness.expect(json.load(file)["cells"], "the report is empty")


if __name__ == "__main__":
    harness.main(test)
