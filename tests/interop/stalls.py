# SPDX-License-Identifier: BSD-2-Clause
"""Whether a failed cell shows a known fault of rxe: its requester stops sending (README.md, "rxe's requester stalls").

Only the texts of urxe_rc_verify tell. A stall is excused if all of this holds:
  - one of the two programs had no completion for its whole patience ("nothing came in 60 s");
  - rxe's program misses completions of requests that it has posted, and of no receives;
  - urxe's program misses no completion of a request. It may miss receives: of messages that rxe never sent;
  - rxe received no RNR NAK, which asks a requester to wait, for ever if the responder likes;
  - rxe has not gone back again and again: a requester that waits for an answer does so at each ACK timeout, even with
    a retry count of 7, which rxe takes for no limit. One that has stalled does nothing.
"""

import re
import typing

# rxe's counters. Both must be known, and the first unchanged.
RNR_NAKS = "rcvd_rnr_err"
RETRIES = "completer_retry_err"
# In 60 s a requester without an answer goes back 54 times with the ACK timeout of the cells (1.07 s): seen with a responder
# that was made deaf. Of the cells without faults the one of 8 MiB goes back eight times, others less often.
MOST_RETRIES = 10

_WAITS = re.compile(r"^urxe_rc_verify: (?:server|client): (?:(?P<stood>nothing came in \d+ s: )|the peer ended while we "
                    r"waited for )(?P<missing>.*)$", re.MULTILINE)
_AT_BARRIER = re.compile(r"^urxe_rc_verify: (?:server|client): the control connection has ended$", re.MULTILINE)
_FAILURE = re.compile(r"^urxe_rc_verify: .*$", re.MULTILINE)
_COUNTS = re.compile(r" QP \d+: (\d+) requests, (\d+) receives;")
_REQUESTS = ("shared counter: FETCH_AND_ADD completions", "solicited: the send completion")
_RECEIVES = ("a solicited event",)


class Missing(typing.NamedTuple):
    """Completions that a program waited for when it gave up."""
    requests: int
    receives: int
    stood: bool  # Whether none came for the whole of the program's patience.


def failures(text):
    """The lines by which the programs say why they fail."""
    return _FAILURE.findall(text)


def missing(output):
    """What a program says in its output that it misses; None if that is not its failure, or cannot be told."""
    if len(failures(output)) != 1:
        return None
    if _AT_BARRIER.search(output):
        return Missing(0, 0, False)
    waits = _WAITS.search(output)
    counts = waits and _counts(waits["missing"])
    return counts and Missing(*counts, waits["stood"] is not None)


def _counts(text):
    """(requests, receives)"""
    if text in _REQUESTS:
        return 1, 0
    if text in _RECEIVES:
        return 0, 1
    name, separator, counts = text.partition(": completions are missing:")
    if not separator or _COUNTS.sub("", counts):
        return None
    pairs = [(int(requests), int(receives)) for requests, receives in _COUNTS.findall(counts)]
    return tuple(map(sum, zip(*pairs))) if pairs else None


def is_stall(rxe_output, urxe_output, before, after):
    """Whether the outputs of the cell's two programs, and rxe's counters before and after it, show a stall."""
    rxe, urxe = missing(rxe_output), missing(urxe_output)
    if rxe is None or urxe is None or not (rxe.stood or urxe.stood):
        return False
    if rxe.requests == 0 or rxe.receives > 0 or urxe.requests > 0:
        return False
    if any(name not in counters for name in (RNR_NAKS, RETRIES) for counters in (before, after)):
        return False
    return after[RNR_NAKS] == before[RNR_NAKS] and after[RETRIES] - before[RETRIES] <= MOST_RETRIES


def may_be_stall(outputs):
    """Whether one of these programs has waited for its whole patience; the other one may not have ended yet."""
    return any(match["stood"] for output in outputs for match in _WAITS.finditer(output))
