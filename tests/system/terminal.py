# SPDX-License-Identifier: BSD-2-Clause
"""What a program draws on a terminal; a shell on a terminal of its own, to which a test types."""

import errno
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
PIECES = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@A-Za-z])|\x1b[()].|\x1b[=>78]|([\r\n\b])|([^\x00-\x1f])", re.S)


def read_rest(descriptor):
    """Reads until the terminal's other end is closed. Output may come in pieces, even after its writer has ended."""
    data = b""
    try:
        while piece := os.read(descriptor, 65536):
            data += piece
    except OSError as error:  # Linux reports the closed end so.
        harness.expect(error.errno == errno.EIO, str(error))
    return data.decode(errors="replace")


class Screen:
    """The lines of a terminal, after what a program has written with ncurses."""

    def __init__(self, rows, columns):
        self._cells = [[" "] * columns for _ in range(rows)]
        self._row = self._column = 0
        self._rest = ""

    def lines(self):
        return ["".join(row).rstrip() for row in self._cells]

    def feed(self, text):
        text, at = self._rest + text, 0
        while at < len(text):
            piece = PIECES.match(text, at)
            if piece is None and text[at] == "\x1b" and len(text) - at < 16:
                break  # The rest of the sequence comes later.
            if piece:
                self._obey(piece)
            at = piece.end() if piece else at + 1
        self._rest = text[at:]

    def _obey(self, piece):
        private, numbers, command, control, character = piece.groups()
        if character:
            self._put(character)
        elif control:
            self._row += control == "\n"
            self._column = 0 if control == "\r" else self._column - (control == "\b")
        elif command and not private:
            self._command(command, [int(number or 0) for number in numbers.split(";")])
        self._row = max(0, min(self._row, len(self._cells) - 1))
        self._column = max(0, min(self._column, len(self._cells[0])))

    def _put(self, character):
        if self._column < len(self._cells[0]):
            self._cells[self._row][self._column] = character
        self._column += 1

    def _command(self, command, numbers):
        row, first, count = self._cells[self._row], self._column, max(1, numbers[0])
        if command == "H":
            self._row, self._column = count - 1, max(1, (numbers + [1])[1]) - 1
        elif command == "d":
            self._row = count - 1
        elif command == "G":
            self._column = count - 1
        elif command in "AB":
            self._row += count if command == "B" else -count
        elif command in "CD":
            self._column += count if command == "C" else -count
        elif command == "X":
            row[first:first + count] = [" "] * len(row[first:first + count])
        elif command == "P":
            row[first:] = (row[first + count:] + [" "] * len(row))[:len(row) - first]
        elif command == "@":
            row[first:] = ([" "] * count + row[first:])[:len(row) - first]
        elif command == "b":
            for _ in range(count):
                self._put(row[first - 1])
        elif command in "KJ":
            self._erase(command, numbers[0])

    def _erase(self, command, which):
        """Of the line or the screen: what follows, what is before, or all."""
        row = self._cells[self._row]
        begin, end = (0 if which else self._column), (self._column + 1 if which == 1 else len(row))
        row[begin:end] = [" "] * len(row[begin:end])
        if command == "J":
            for number, other in enumerate(self._cells):
                if which == 2 or (number > self._row) == (which == 0) and number != self._row:
                    other[:] = [" "] * len(other)


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
