# SPDX-License-Identifier: BSD-2-Clause
"""A shell on a terminal of its own, to which a test types."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import harness

MOVES = re.compile(r"\x1b\[[0-9;]*[ABHJ]")
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>])|\r")


PROMPT = "at-the-prompt "


class Shell:
    """A shell that is told what to do at its prompt. Before it shows one, it does not read keys as its line editor does: the
    terminal itself would take ^D and ^U."""

    def __init__(self, command):
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 200, 0, 0))
        self._process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True,
                                         env={**os.environ, "TERM": "xterm", "PS1": PROMPT})
        os.close(other)
        self._count = 0
        self._read_until(PROMPT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._end)

    def _read_until(self, *markers):
        """What has appeared until the markers have, in their order; without colours; a move of the cursor to another line is
        a new line."""
        raw, text, deadline = b"", "", time.monotonic() + harness.PATIENCE
        while not re.search(".*".join(map(re.escape, markers)), text, re.S):
            ready, _, _ = select.select([self._end], [], [], max(0, deadline - time.monotonic()))
            harness.expect(ready, f"the shell is silent; it said: {text}")
            raw += os.read(self._end, 65536)
            text = ESCAPES.sub("", MOVES.sub("\n", raw.decode(errors="replace")))
        return text

    def run(self, keys, execute=True):
        """Types the keys, and Enter if the line is to be executed; otherwise the line is wiped. Returns what appeared."""
        self._count += 1
        # What is echoed is not yet the marker.
        keys += "\n" if execute else "\x15"
        os.write(self._end, f"{keys}print end''of{self._count}\n".encode())
        return self._read_until(f"endof{self._count}", PROMPT)
