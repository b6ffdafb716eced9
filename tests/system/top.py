#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""top.py CASE: `urxe top` on a terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import harness
from harness import Process
from terminal import read_rest

END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LEAVES_SCREEN = "\x1b[?1049l"


class Terminal:
    """`urxe top` behind a terminal of 24 lines and 80 columns."""

    def __init__(self, *options, term="xterm"):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.name = os.ttyname(theirs)
        self.modes_before = self.modes()
        self.process = subprocess.Popen([harness.binary("urxe"), "top", *options], stdin=theirs, stdout=theirs,
                                        stderr=subprocess.PIPE, env=dict(harness.environment(), TERM=term),
                                        start_new_session=True)
        os.close(theirs)
        self.text = ""

    def type(self, keys):
        self.text = ""
        os.write(self.ours, keys.encode())

    def wait_for(self, *words):
        """Until all words are among what was drawn since the last key."""
        deadline = time.monotonic() + harness.PATIENCE
        while not all(word in self.text for word in words):
            harness.expect(time.monotonic() < deadline and self.process.poll() is None, f"{words} in {self.text!r}")
            if select.select([self.ours], [], [], 0.1)[0]:
                self.text += os.read(self.ours, 65536).decode(errors="replace")

    def stop_output(self):
        """Ctrl-S, until it has its effect, and a key after which it draws."""
        self.type("\x13h")
        theirs = os.open(self.name, os.O_RDWR | os.O_NOCTTY)
        harness.wait_until(lambda: not select.select([], [theirs], [], 0)[1], "no output")
        os.close(theirs)

    def modes(self):
        return termios.tcgetattr(self.ours)

    def hang_up(self):
        os.close(self.ours)

    def end(self):
        return self.process.wait(harness.PATIENCE), self.process.stderr.read().decode()


def keys():
    """A failed queue pair is shown, explained, filtered away; q ends."""
    harness.isolate()
    program = Process(harness.urxe_run([harness.binary("urxe_qp_failures"), "bounds"], options=["--device", "lo"]),
                      name="bounds")
    harness.wait_until(lambda: "done" in program.output or not program.running(), "the failure")
    terminal = Terminal("--interval", "0.2", "--pid", str(program.pid))
    terminal.wait_for("urxe top", "urxe_qp_fa", "nak", "refused")
    terminal.type("\r")
    terminal.wait_for("refused", "completions")
    terminal.type("\x1b")
    terminal.wait_for("WAITS")
    terminal.type("h")
    terminal.wait_for("a filter")
    terminal.type("h")
    terminal.wait_for("WAITS")
    terminal.type("/nobody\r")
    terminal.wait_for("No queue pair")
    terminal.type("q")
    harness.expect(terminal.end() == (0, ""), "the end")


def wrong():
    """Without a terminal, or on one that nobody knows, one line says so."""
    harness.isolate()
    done = subprocess.run([harness.binary("urxe"), "top"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=harness.environment(), timeout=harness.PATIENCE)
    harness.expect(done.returncode == 2 and "needs a terminal" in done.stderr and not done.stdout, done)
    status, said = Terminal(term="no-such-terminal").end()
    harness.expect(status == 2 and "no-such-terminal" in said, f"{status}: {said}")
    status, said = Terminal(term="dumb").end()
    harness.expect(status == 2 and "TERM=dumb cannot move its cursor" in said, f"{status}: {said}")
    status, said = Terminal("--interval", "0").end()
    harness.expect(status == 2 and "--interval" in said, f"{status}: {said}")


def hangup():
    """It ends when its terminal goes."""
    harness.isolate()
    terminal = Terminal()
    terminal.wait_for("urxe top")
    terminal.hang_up()
    harness.expect(terminal.end() == (0, ""), "the end")


def signals():
    """Ctrl-C and signals that ask it to end are a normal end, also while nothing changes."""
    harness.isolate()
    for number in END_SIGNALS:
        terminal = Terminal("--interval", "3600")
        terminal.wait_for("urxe top")
        terminal.process.send_signal(number)
        harness.expect(terminal.end() == (0, ""), f"{number}")
        harness.expect(terminal.modes() == terminal.modes_before, f"{number}: the modes of the terminal")


def output_stopped():
    """A signal ends it while Ctrl-S stops its output, and the screen is left."""
    harness.isolate()
    for number in END_SIGNALS:
        terminal = Terminal("--interval", "3600")
        terminal.wait_for("urxe top")
        terminal.stop_output()
        terminal.process.send_signal(number)
        harness.expect(terminal.end() == (0, ""), f"{number}")
        harness.expect(terminal.modes() == terminal.modes_before, f"{number}: the modes of the terminal")
        harness.expect(LEAVES_SCREEN in read_rest(terminal.ours), f"{number}: the screen")


def slow():
    """It leaves the screen even if it gets no processor during its second of grace."""
    harness.isolate()
    terminal = Terminal("--interval", "3600")
    terminal.wait_for("urxe top")
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGALRM, signal.SIGCONT):
        terminal.process.send_signal(number)
    harness.expect(terminal.end() == (0, ""), "the end")
    harness.expect(LEAVES_SCREEN in read_rest(terminal.ours), "the screen")


def output_unread():
    """A signal ends it while nobody reads what the terminal is to show."""
    harness.isolate()
    terminal = Terminal("--interval", "3600")
    terminal.wait_for("urxe top")
    theirs = os.open(terminal.name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    fill(theirs)
    terminal.process.send_signal(signal.SIGTERM)
    harness.expect(terminal.end() == (0, ""), "the end")
    os.close(theirs)
    harness.expect(terminal.modes() == terminal.modes_before, "the modes of the terminal")


def fill(descriptor):
    """Writes until there is no room left."""
    try:
        while True:
            os.write(descriptor, b" " * 256)
    except BlockingIOError:
        pass


def resized():
    """A larger screen shows more, at once."""
    harness.isolate()
    terminal = Terminal("--interval", "3600")
    terminal.wait_for("WAITS FOR")
    terminal.text = ""
    fcntl.ioctl(terminal.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 150, 0, 0))
    terminal.process.send_signal(signal.SIGWINCH)
    terminal.wait_for("PEER")
    terminal.type("q")
    harness.expect(terminal.end() == (0, ""), "the end")


harness.main({"keys": keys, "wrong": wrong, "hangup": hangup, "signals": signals, "output_stopped": output_stopped,
              "slow": slow, "output_unread": output_unread, "resized": resized}[sys.argv[1]])
