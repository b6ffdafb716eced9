#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab_tutorial.py PAGE: runs every command of the page, in one lab, and looks for the lines of output that it shows.

The first block of commands starts the lab. Numbers in the output may be others.
"""

import re
import subprocess
import sys

import harness
import lab
import stock_programs


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


def pattern(line):
    """What the line looks like with other numbers, and times in other units."""
    numbers = re.sub(r"\d+(\\\.\d+)?", r"[\\d.]+", re.escape(line.strip()))
    return re.sub(r"\\ (us|ms|s)\b", " (us|ms|s)", numbers)


def expect_success_of_servers(block, output):
    found = re.search(r"^the server ended with (\d+)$", output, re.M)
    if found:
        said = output[:found.start()]  # What follows is of other programs.
        lost = found[1] == "255" and "server rping " in block and stock_programs.rping_server_lost_its_race(said)
        harness.expect(lost, f"the server of\n{block}ended with {found[1]}:\n{output}")


def test():
    harness.need_programs("ibv_rc_pingpong", "ibv_srq_pingpong", "rping", "mckey", "ib_write_bw", "ib_atomic_lat", "bash")
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    with lab.lab_command(ordinary=True) as command:
        start, *commands = blocks(page, "sh")
        words = start.split()
        harness.expect(words[:2] == ["urxe", "lab"] and len(commands) >= 18, "these are not the blocks of the page")
        script = "".join(f"echo '=== block {i}'\n{block}" for i, block in enumerate(commands))
        done = subprocess.run([*command, *words[2:], "--", "bash", "-c", "set -e\n" + script], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=lab.environment(), cwd="/",
                              text=True, errors="replace", timeout=harness.PATIENCE)
    output = dict(enumerate(re.split(r"^=== block \d+\n", done.stdout, flags=re.M)[1:]))
    if done.returncode != 0:
        last = max(output)
        harness.expect(False, f"exit status {done.returncode} from\n{commands[last]}:\n{output[last]}")
    for number, block in enumerate(commands):
        expect_success_of_servers(block, output[number])
    shown = re.findall(r"^```sh\n((?:(?!```).*\n)*)```\n```text\n((?:(?!```).*\n)*)```$", page, re.M)
    harness.expect(len(shown) == 16, f"the page shows {len(shown)} outputs")
    for block, lines in shown:
        for line in lines.splitlines():
            text = output[commands.index(block)]
            harness.expect(re.search(pattern(line), text), f"no {line!r} in the output of\n{block}:\n{text}")


harness.main(test)
