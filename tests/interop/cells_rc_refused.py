# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix: requests that a responder must refuse, and how both ends' completions tell of it."""

import data_path
from cells import add_both_roles
from remote import harness

_ACCESS = ("remote access error", "Work Request Flushed Error")
_INVALID = ("remote invalid request error", "Work Request Flushed Error")

# (requester's completion, completion of the receive that the responder has posted), by 9.9.3 and 10.2 of the specification.
EXPECTED = {
    "write_unknown_key": _ACCESS,
    "read_unknown_key": _ACCESS,
    "write_beyond_end": _ACCESS,
    "read_beyond_end": _ACCESS,
    "write_without_right": _ACCESS,
    "read_without_right": _ACCESS,
    "atomic_without_right": _ACCESS,
    "write_not_enabled": _INVALID,
    "read_not_enabled": _INVALID,
    "atomic_not_enabled": _INVALID,
    "send_too_long": ("remote invalid request error", "local length error"),
    "empty_write_unknown_key": ("success", "success"),
}

# What an implementation makes otherwise as the responder.
KNOWN = {
    "rxe": {"send_too_long": ("remote operation error", "local QP operation error")},
}


def refusals(server, client):
    outputs = data_path.own("urxe_rc_verify", server, client, "ipv4", "--scenarios", "refusals", "--timeout",
                            data_path.ACK_TIMEOUT)
    expected = {**EXPECTED, **KNOWN.get(server.name, {})}
    found = {name: (_told(outputs[1], name, "requester"), _told(outputs[0], name, "responder")) for name in expected}
    wrong = [f"{name}: {found[name]}, not {expected[name]}" for name in expected if found[name] != expected[name]]
    harness.expect(not wrong, "\n".join(wrong))


def _told(output, name, who):
    start = f"{name}: {who}: "
    return next((line[len(start):] for line in output.splitlines() if line.startswith(start)), None)


add_both_roles("rc.refusals", refusals)
