#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The matrix's runner tells what works from what does not, and says why."""

import contextlib
import io

import cells
import matrix
import peers
import reports
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


def test():
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


if __name__ == "__main__":
    harness.main(test)
