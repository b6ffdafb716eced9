# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: one end of a connection is killed, and what the other end sees of that."""

import errno
import re

import cells
import harness
from cells_cm_verify import Pair, bystander
from cm_ends import IPV4, PATIENCE, Ends, wait_for_output

FOUND_GONE = -errno.ECONNRESET


def kill(survives, dies, case):
    """Kills the case's process on the side `dies` once the connection stands. Returns the one that survives.

    Another process stays on that side: a host where urxe has none left answers nothing."""
    bystander(dies, IPV4)
    server_dies = case.startswith("server")
    ends = Ends(*((dies, survives) if server_dies else (survives, dies)), IPV4)
    surviving, dying = Pair(ends, case).of(survives)
    wait_for_output(surviving, "the connection", "established")
    dying.kill()
    return surviving


def ended(process):
    """The status of the event that has ended the connection."""
    output = process.expect_success(PATIENCE)
    return int(re.search(r"^disconnected (-?\d+)$", output, re.M)[1])


def idle(case):
    """Whoever kills a process on Linux, its kernel disconnects for it. urxe's ends ask each other."""
    def run(near, far):
        status = ended(kill(near, far, case))
        harness.expect(status == (FOUND_GONE if far.name == "urxe" else 0), f"disconnected with {status}")
    return run


def sending(case, dying):
    """The retries are in vain. Linux has sent a DREQ; for urxe another process answers the survivor's."""
    def run(near, far):
        surviving = kill(*((near, far) if dying == "peer" else (far, near)), case)
        expected = (0, FOUND_GONE) if far.name == "urxe" else (0,)
        harness.expect(ended(surviving) in expected and "retries exceeded" in surviving.output, surviving.output)
    return run


for side in ("server", "client"):
    cells.add(f"cm.peer_{side}_killed_idle", idle(f"{side}_killed_idle"), IPV4)
    for dying in ("peer", "urxe"):
        cells.add(f"cm.{dying}_{side}_killed_sending", sending(f"{side}_killed_sending", dying), IPV4)
