#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the scripts of tests/drill against rxe in a guest. What differs from them is the table of tests/drill/rxe.md: a
script that passes and is in it fails the test, and so does one that differs and is not, or in another statement.

usage: rxe_drill.py [SCRIPT...]     ends with 0 where all is as the table says"""

import json
import os
import re
import signal
import subprocess
import sys

import guest
from remote import harness

LIBRARY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "drill"))
PAGE = os.path.join(LIBRARY, "rxe.md")
MTU = 4500
PATIENCE_MS = 10000  # The guest is emulated; each statement that does not hold waits so long.
PORT = 18791
LIMIT = "librdmacm does not offer"  # Nobody's device can be asked for it by the agent.
ROW = re.compile(r"\| `([a-z_/-]+)` \| `([^`]+)` \|")


def known():
    """The statement that does not hold, by script."""
    with open(PAGE, encoding="utf-8") as page:
        return {row[1]: row[2] for row in map(ROW.match, page) if row}


def run(scripts):
    """What does not hold, by script: the statement, or the reason why it was skipped."""
    command = [harness.binary("urxe"), "drill", "--peer", "10.99.0.2", "--patience", str(PATIENCE_MS), "--json",
               *(scripts or [LIBRARY])]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    harness.expect(ended.returncode in (0, 1, 3), f"urxe drill: {ended.returncode}: {ended.stderr}")
    rows = json.loads(ended.stdout)
    print(f"{sum(row['passed'] for row in rows)} of {len(rows)} scripts passed", flush=True)
    for row in rows:
        if not row["passed"]:
            print(json.dumps(row, indent=1), flush=True)
    return {name_of(row): statement_of(row) for row in rows if LIMIT not in row.get("skipped", "")}


def name_of(row):
    return os.path.relpath(row["script"], LIBRARY).removesuffix(".drill")


def statement_of(row):
    """None for a script that passed."""
    if row["passed"]:
        return None
    return f"skipped: {row['skipped']}" if "skipped" in row else row["expected"]


def check(booted, scripts=()):
    agent = booted.agent.start([harness.binary("urxe"), "drill", "--agent"], "agent")
    listens = ["sh", "-c", f"grep -q ':{PORT:04X} .* 0A ' /proc/net/tcp"]
    harness.wait_until(lambda: booted.agent.start(listens).wait() == 0 or not agent.running(), "the agent")
    came = run(scripts)
    table = known()
    wrong = [f"{name}: {statement}, in {PAGE}: {table.get(name)}" for name, statement in sorted(came.items())
             if statement != table.get(name)]
    wrong += [f"{PAGE} has {name}, which is no script" for name in sorted(table) if not scripts and name not in came]
    harness.expect(not wrong, "\n".join(wrong))


def main():
    guest.need()
    harness.need_namespaces()
    with guest.start(mtu=MTU) as booted:
        check(booted, sys.argv[1:])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    main()
