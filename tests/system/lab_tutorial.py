#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab_tutorial.py PAGE: runs every command of the page, in one lab, and looks for the lines of output that it shows.

The first block of commands starts the lab. Numbers in the output may be others. `urxe top` has a terminal of its own, as a
reader's has, and runs beside all other commands.
"""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

import harness
import lab
import stock_programs
import terminal


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


MARK = "=== block"
BEGIN = f"{MARK} 0\n"
END = "=== end"
TOP = "urxe lab exec node1 -- urxe top\n"
# Programs that run for some seconds, which top looks at once a second.
SHOWN_BY_TOP = (r"ib_write_b +\d+ [0-9a-fx]+ RC +RTS", r"ib_read_la +\d+ [0-9a-fx]+ RC +RTS",
                r"ibv_ud_pin +\d+ [0-9a-fx]+ UD +RTS", r"rping +\d+ [0-9a-fx]+ RC +RTS")
REASONS = r"( *|answer|window|credits|pacing|reads|rnr)"  # of a queue pair that goes on


def pattern(line):
    """What the line looks like with other numbers, and times in other units. What a queue pair waits for changes."""
    words = [re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?[kMG]?", lambda found: "0x[0-9a-f]+" if found[0][:2] == "0x" else r"[\d.]+[kMG]?",
                    re.escape(word).replace(r"\.", ".")) for word in line.split()]
    text = re.sub(r"(?<=[\]?+ ])(ns|us|ms|s)\b", "(ns|us|ms|s)", " +".join(words))
    return re.sub(r"( \+answer)?$", f" *{REASONS}", text) if " RTS " in line else text


class Top:
    """`urxe top` in the first node of the lab, on a terminal of its own."""

    def __init__(self, command):
        self._keys, self._screen = pty.openpty()
        fcntl.ioctl(self._screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._process = subprocess.Popen(command, stdin=self._screen, stdout=self._screen, stderr=self._screen, cwd="/",
                                         env={**lab.environment(), "TERM": "xterm"}, start_new_session=True)
        self._screen_now = terminal.Screen(24, 80)
        self.lines = set()  # that were on the screen

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._keys)
        os.close(self._screen)

    def follow(self, is_over):
        """Reads what it draws."""
        while not is_over():
            if select.select([self._keys], [], [], 0.1)[0]:
                self._screen_now.feed(os.read(self._keys, 65536).decode(errors="replace"))
                self.lines.update(self._screen_now.lines())

    def expect_end(self, rows):
        """`q` ends it. What looks like the rows was on its screen."""
        os.write(self._keys, b"q")
        self.follow(lambda: self._process.poll() is not None)
        harness.expect(self._process.returncode == 0, f"urxe top ended with {self._process.returncode}: {self.lines}")
        for row in rows:
            harness.expect(any(re.match(row, line) for line in self.lines), f"urxe top has not shown {row}: {self.lines}")


def expect_success_of_servers(block, output):
    found = re.search(r"^the server ended with (\d+)$", output, re.M)
    if found:
        said = output[:found.start()]  # What follows is of other programs.
        lost = found[1] == "255" and "server rping " in block and stock_programs.rping_server_lost_its_race(said)
        harness.expect(lost, f"the server of\n{block}ended with {found[1]}:\n{output}")


def run_in_lab(start, script):
    """Runs the script in the first node, with `urxe top` beside it, and returns what the script printed."""
    deadline = time.monotonic() + harness.PATIENCE
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen([*start, "--", "bash", "-c", f"{script}\necho {END}\nread -r _ || true\n"], stdout=output,
                                   stderr=subprocess.STDOUT, stdin=subprocess.PIPE, env=lab.environment(), cwd="/")

        def has_said(text):
            harness.expect(time.monotonic() < deadline, f"the commands have not ended after {harness.PATIENCE} s")
            return process.poll() is not None or text in os.pread(output.fileno(), 1 << 24, 0).decode(errors="replace")

        try:
            harness.wait_until(lambda: has_said(BEGIN), "the lab has begun")
            with Top(top_command(start, process.pid)) as top:
                top.follow(lambda: has_said(END))
                if process.poll() is None:
                    top.expect_end(SHOWN_BY_TOP)
            process.stdin.close()
            status = process.wait(harness.PATIENCE)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return status, output.read()


def top_command(start, lab_process):
    """As the page has it. Other tests run labs of the same user, so this says which one."""
    words = TOP.split()
    at = words.index("exec") + 1
    before, urxe = start[:start.index("lab")], start[start.index("lab") - 1]
    return [*before, *words[1:at], "--lab", f"{lab_process}", *words[at:-2], urxe, "top"]


def test():
    harness.need_programs("ibv_rc_pingpong", "ibv_srq_pingpong", "rping", "mckey", "ib_write_bw", "ib_atomic_lat", "bash")
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    with lab.lab_command(ordinary=True) as command:
        start, *commands = blocks(page, "sh")
        words = start.split()
        harness.expect(words[:2] == ["urxe", "lab"] and len(commands) >= 20, "these are not the blocks of the page")
        harness.expect(commands.count(TOP) == 1, "the page does not say how to start urxe top")
        script = "".join(f"echo '{MARK} {i}'\n{block}" for i, block in enumerate(commands) if block != TOP)
        status, text = run_in_lab([*command, *words[2:]], "set -e\n" + script)
    output = {int(number): said for number, said in re.findall(rf"^{MARK} (\d+)\n(.*?)(?=^{MARK}|\Z)", text, re.M | re.S)}
    if status != 0:
        last = max(output)
        harness.expect(False, f"exit status {status} from\n{commands[last]}:\n{output[last]}")
    for number, said in output.items():
        expect_success_of_servers(commands[number], said)
    shown = re.findall(r"^```sh\n((?:(?!```).*\n)*)```\n```text\n((?:(?!```).*\n)*)```$", page, re.M)
    harness.expect(len(shown) == 17, f"the page shows {len(shown)} outputs")
    for block, lines in shown:
        for line in lines.splitlines():
            said = output[commands.index(block)]
            harness.expect(re.search(pattern(line), said), f"no {line!r} in the output of\n{block}:\n{said}")


harness.main(test)
