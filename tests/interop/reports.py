# SPDX-License-Identifier: BSD-2-Clause
"""What the matrix's results look like: lines, a closing table, JSON, Markdown."""

import collections
import json
import typing

OK, FAILED, SKIPPED = "ok", "FAILED", "skipped"
STALLED = "stalled"  # Of one run of a cell, never of the cell.
_ROLES = ("urxe_client", "urxe_server")


class Result(typing.NamedTuple):
    name: str
    outcome: str
    seconds: float
    reason: str  # Why it was skipped.
    counters: list  # For each end: those of its device that the cell has changed, and by how much.
    stalls: int = 0  # Runs of the cell in which rxe's requester stalled.


def line(result):
    if result.outcome == SKIPPED:
        return f"skipped         {result.name}: {result.reason}"
    return f"{result.outcome:7} {result.seconds:5.1f} s {result.name}"


def stall_line(name, seconds, again):
    """Of one run of a cell; again: whether another one follows."""
    return f"{STALLED:7} {seconds:5.1f} s {name}: rxe's requester sends no more{'; once more' if again else ''}"


def summary(results, seconds):
    """A row for each group of cells, why what was skipped was, and what stalled or failed."""
    groups = collections.defaultdict(collections.Counter)
    for result in results:
        for name in (result.name.split(".")[0], "all"):
            groups[name][result.outcome] += 1
            groups[name][STALLED] += result.stalls
    columns = (OK, FAILED, SKIPPED, STALLED)
    rows = [f"{'':12}" + "".join(f"{column:>9}" for column in columns)]
    for name in [group for group in groups if group != "all"] + ["all"]:
        rows.append(f"{name:12}" + "".join(f"{groups[name][column]:9}" for column in columns))
    for reason, count in collections.Counter(r.reason for r in results if r.outcome == SKIPPED).items():
        rows.append(f"skipped {count}: {reason}")
    rows += [f"{STALLED} {result.stalls}: {result.name}" for result in results if result.stalls]
    rows += [f"FAILED: {result.name}" for result in results if result.outcome == FAILED]
    return "\n".join(["", *rows, f"{seconds:.0f} s"])


def markdown(peer, results):
    """One row for a case and its variants, with a column for each role of urxe."""
    rows = collections.defaultdict(dict)
    for result in results:
        parts = result.name.split("/")
        role = next((part for part in parts if part in _ROLES), None)
        rows["/".join(part for part in parts if part != role)][role] = result
    lines = [f"Peer: {peer}", "", "| cell | urxe is the client | urxe is the server | both alike |", "|---|---|---|---|"]
    for name, by_role in rows.items():
        lines.append("| " + " | ".join([name, *(_shown(by_role.get(role)) for role in (*_ROLES, None))]) + " |")
    return "\n".join(lines) + "\n"


def _shown(result):
    if result is None:
        return ""
    return f"skipped: {result.reason}" if result.outcome == SKIPPED else result.outcome


def write(path, peer, results):
    """JSON where the path ends so, otherwise Markdown."""
    with open(path, "w", encoding="utf-8") as file:
        if path.endswith(".json"):
            json.dump({"peer": peer, "cells": [result._asdict() for result in results]}, file, indent=1)
        else:
            file.write(markdown(peer, results))
