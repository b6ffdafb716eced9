# SPDX-License-Identifier: BSD-2-Clause
"""Shortens the stacks that a panicking kernel prints to a line each: `python3 (1) S: wait_for_partner < fifo_open < ...`.

The kernel's command line needs unknown_nmi_panic and panic_print=1 (all tasks).
"""

import re

DEPTH = 12  # Functions of a stack that are shown, the innermost first.
_STAMP = re.compile(r"^\[ *[\d.]+\] ?")
_RUNNING = re.compile(r"CPU: (\d+) (?:UID: \d+ )?PID: (\d+) Comm: (.+?) (?:Not tainted|Tainted)")
_TASK = re.compile(r"task:(.+?) +state:(\w) .*\bpid:(\d+) +(?:tgid:\d+ +)?ppid:(\d+)")
_FUNCTION = re.compile(r"^ ([\w.]+)\+0x[\da-f]+/0x[\da-f]+$")  # "? name" is a guess
_INTERRUPTED = re.compile(r"RIP: 0010:([\w.]+)\+")
_WAITING = ("__schedule", "schedule")  # Every sleeping task's stack begins with these.
_PANIC = ("dump_stack_lvl", "panic", "nmi_panic", "unknown_nmi_error", "exc_nmi", "end_repeat_nmi")
_KTHREADD = "2"


def summary(console):
    """One line for the running task, each program, and each kernel thread that runs or cannot be interrupted."""
    shown, functions = [], []
    for line in (_STAMP.sub("", each) for each in console.splitlines()):
        if match := _RUNNING.search(line):
            functions = _begin(shown, f"on processor {match[1]}: {match[3]} ({match[2]})")
        elif match := _TASK.search(line):
            functions = []
            if match[4] not in ("0", _KTHREADD) or match[3] == "1" or match[2] in "RD":
                functions = _begin(shown, f"{match[1]} ({match[3]}) {match[2]}")
        elif match := _INTERRUPTED.search(line) or _FUNCTION.search(line):
            if match[1].removesuffix(".cold") not in _WAITING + _PANIC:
                functions.append(match[1])
    return [f"{head}: {' < '.join(stack[:DEPTH])}" for head, stack in shown]


def _begin(shown, head):
    shown.append((head, []))
    return shown[-1][1]
