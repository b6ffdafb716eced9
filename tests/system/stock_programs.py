# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong in stock programs by chance, over any device, and how their output proves that nothing else did."""

import errno
import os
import re

import harness

# rping: its last step is to destroy its event channel, while a thread of its own may be about to read from it. That
# thread then prints this and ends the program with 255.
_RPING_RACE = "rdma_get_cm_event: Bad file descriptor\n"
# With -d, what it prints on its way to that step. Whatever fails before adds a line with one of the words below.
_RPING_IS_DONE = "destroy cm_id "
_RPING_FAILURE = re.compile(r"fail|error|mismatch|bogus|removal|unhandled|unknown|(rdma|ibv|pthread)_\w+: ", re.I)
# An orderly end; its server learns by the state DISCONNECTED (10) that no further ping comes.
_RPING_DISCONNECTED = ("server DISCONNECT EVENT...\n", "client DISCONNECT EVENT...\n",
                       "wait for RDMA_READ_ADV state 10\n")

# fi_pingpong over libfabric's ofi_rxm: after the last message each end closes its side of the connection. The later end may
# learn that before it has read its own last completions; it then destroys the queue pair, which may drop them, counts what
# it has not read as flushed, and ends with ECANCELED.
_RXM_RACE = re.compile(r"^\[error\] util/pingpong\.c:\d+: cq_readerr: Work Request Flushed Error\n", re.M)

# perftest: it measures the processor's clock first, and a busy machine can upset that measurement.
_NO_CLOCK = re.compile(r"^Correlation coefficient r\^2: \S+ < 0\.9$", re.M)
_ROW = re.compile(r"^ *\d+ +\d+[ \t]+(\S.*)$", re.M)


def finish(process, timeout=harness.PATIENCE):
    """Waits for the process's success; returns its output. For an rping to lose its race is no failure, if -d was among
    its options; nor is it for fi_pingpong."""
    code = process.wait(timeout)
    if code == 255 and _runs(process, "rping") and rping_lost_its_race(process.output):
        return process.output
    if code != 0 and _runs(process, "rping"):
        return process.expect_success(timeout, rping_said)
    if code == errno.ECANCELED and _runs(process, "fi_pingpong") and fi_pingpong_lost_its_race(process.output):
        return process.output
    return process.expect_success(timeout)


def _runs(process, program):
    """By its name alone, or as a file of another release, with that release's dynamic linker before it."""
    return any(os.path.basename(word) == program for word in process.command)


def fi_pingpong_lost_its_race(output):
    """Whether all of it came back, as its row says, which it prints before it closes, and this alone went wrong."""
    rest, count = _RXM_RACE.subn("", output)
    rows = re.findall(r"^\S+ +(\d+) +=(\d+) ", rest, re.M)
    return count == 1 and "rror" not in rest and rows != [] and all(sent == echoed for sent, echoed in rows)


def rping_lost_its_race(output):
    """Whether this is what `rping -d` prints if nothing failed but its own last step."""
    if output.count(_RPING_RACE) != 1:
        return False
    # Standard error may have come between two halves of a line of standard output, which is buffered.
    for line in (_RPING_RACE, *_RPING_DISCONNECTED):
        output = output.replace(line, "")
    return _RPING_IS_DONE in output and "wait for " not in output and not _RPING_FAILURE.search(output)


def rping_said(output):
    """The lines with which an rping told a failure: what is read from its standard error stands far before its end, as its
    standard output is buffered."""
    lines = [line.strip() for line in output.splitlines() if _RPING_FAILURE.search(line) or "wait for " in line]
    return "".join(f"; {line}" for line in lines)


def rping_server_lost_its_race(output):
    """The same of what a server and its client print without -d. The server's word that it was disconnected in an orderly
    way is followed by nothing but the steps to its last one."""
    steps = (_RPING_RACE, "server DISCONNECT EVENT...\n", "wait for RDMA_READ_ADV state 10\n")
    orderly = all(output.count(line) == 1 for line in steps)
    rest = output.replace(_RPING_RACE, "").replace("wait for RDMA_READ_ADV state 10\n", "")
    return orderly and "wait for " not in rest and not _RPING_FAILURE.search(rest)


def expect_measurement(output):
    """A program of perftest, run with -F, has printed its table. If it has no clock, as it then says itself, it goes on
    all the same and divides by zero: the numbers of a row may then be no numbers."""
    number = r"\d+\.\d+|inf|-?nan" if _NO_CLOCK.search(output) else r"\d+\.\d+"
    rows = _ROW.findall(output)
    measured = [row for row in rows if re.search(rf"(?<!\S)(?:{number})(?!\S)", row)]
    harness.expect(rows and measured == rows, f"no results in:\n{output}")


def need_xrc_files(*names):
    """Skips if one of the files in /tmp is another user's by which a stock program makes an XRC domain: it cannot open that,
    and leaves its own behind."""
    for name in names:
        path = os.path.join("/tmp", name)
        if os.path.exists(path) and not harness.is_root() and os.stat(path).st_uid != os.geteuid():
            harness.skip(f"{path} is another user's, and the program needs one of that name")
