# SPDX-License-Identifier: BSD-2-Clause
"""A stall of rxe's requester is told from what looks like one, and the matrix runs such a cell again. For matrix_test.py."""

import contextlib
import io

import cells
import matrix
import peers
import reports
import stalls
from remote import harness

# As the programs print them. rxe as the client:
RXE_CLIENT = """connected
sizes: 34 sizes up to 20480 bytes by 7 operations verified
urxe_rc_verify: client: nothing came in 60 s: random batch 3: completions are missing: QP 1: 7 requests, 0 receives;
"""
URXE_SERVER = """connected
sizes: 34 sizes up to 20480 bytes by 7 operations verified
urxe_rc_verify: server: the peer ended while we waited for random batch 3: completions are missing: QP 1: 0 requests, 4 receives;
"""
# rxe as the server; urxe's program is out of patience first.
RXE_SERVER = """connected
urxe_rc_verify: server: the peer ended while we waited for size 1024: completions are missing: \
QP 0: 3 requests, 0 receives; QP 1: 1 requests, 0 receives;
"""
URXE_CLIENT = """connected
urxe_rc_verify: client: nothing came in 60 s: size 1024: completions are missing: QP 0: 0 requests, 2 receives;
"""
# Both out of patience at once; what goes to a file is written late.
RXE_SERVER_TOO = """connected
urxe_rc_verify: server: nothing came in 60 s: size 8705: completions are missing: QP 0: 5 requests, 0 receives;
"""
URXE_CLIENT_TOO = """connected
urxe_rc_verify: client: nothing came in 60 s: size 8705: completions are missing: QP 0: 0 requests, 3 receives;
solicited: 30 rounds verified
"""
AT_BARRIER = "connected\nurxe_rc_verify: server: the control connection has ended\n"
COUNTER = "connected\nurxe_rc_verify: client: nothing came in 60 s: shared counter: FETCH_AND_ADD completions\n"
SOLICITED = "urxe_rc_verify: client: nothing came in 60 s: solicited: the send completion\n"
SOLICITED_PEER = "urxe_rc_verify: server: the peer ended while we waited for a solicited event\n"
QUIET = {"rcvd_rnr_err": 5, "completer_retry_err": 3, "rcvd_seq_err": 0, "sent_pkts": 100}


def changed(**grown):
    return {name: value + grown.get(name, 0) for name, value in QUIET.items()}


STALLS = (
    (RXE_CLIENT, URXE_SERVER, changed(sent_pkts=900)),
    (RXE_CLIENT, AT_BARRIER, changed(completer_retry_err=2)),  # What was not sent were no messages that take receives.
    (RXE_SERVER, URXE_CLIENT, changed()),
    (RXE_SERVER_TOO, URXE_CLIENT_TOO, changed(completer_retry_err=2, rcvd_seq_err=2, sent_pkts=3004)),
    (COUNTER, AT_BARRIER, changed()),
    (SOLICITED, SOLICITED_PEER, changed()),
    (RXE_CLIENT.replace("random batch 3", "srq"), URXE_SERVER.replace("random batch 3", "srq"), changed()),
)

NOT_STALLS = {
    "urxe misses the completion of a request":
        (RXE_CLIENT, URXE_SERVER.replace("0 requests", "1 requests"), changed()),
    "urxe alone misses completions of requests": (AT_BARRIER, RXE_CLIENT, changed()),
    "the other way round": (URXE_SERVER, RXE_CLIENT, changed()),
    "urxe waits at the shared counter as well": (COUNTER, COUNTER.replace("client", "server"), changed()),
    "rxe misses a receive only": (RXE_CLIENT.replace("7 requests, 0 receives", "0 requests, 1 receives"), AT_BARRIER, changed()),
    "rxe misses a receive as well": (RXE_CLIENT.replace("0 receives", "1 receives"), URXE_SERVER, changed()),
    "rxe misses a solicited event": (SOLICITED_PEER.replace("the peer ended while we waited for", "nothing came in 60 s:"),
                                     AT_BARRIER, changed()),
    "rxe was told to wait": (RXE_CLIENT, URXE_SERVER, changed(rcvd_rnr_err=1)),
    "rxe asked again and again": (RXE_CLIENT, URXE_SERVER, changed(completer_retry_err=50)),
    "rxe does not count RNR NAKs": (RXE_CLIENT, URXE_SERVER, {"completer_retry_err": 3}),
    "nobody was out of patience": (RXE_SERVER, URXE_SERVER, changed()),
    "what is missing cannot be told": (RXE_CLIENT.replace("QP 1: 7 requests, 0 receives;", "much"), URXE_SERVER, changed()),
    "urxe received something else": (RXE_CLIENT, "urxe_rc_verify: server: size 7: QP 0, responder's memory: arena offset 0, "
                                                 "a guard byte: expected 0x01, found 0x00\n", changed()),
    "urxe's program said nothing": (RXE_CLIENT, "connected\n", changed()),
    "rxe's request failed": ("urxe_rc_verify: client: size 7: QP 0, send completion of message 1: transport retry counter "
                             "exceeded\n", URXE_SERVER, changed()),
    "urxe's program crashed after its report": (RXE_CLIENT, URXE_SERVER + "urxe_rc_verify: server: and more\n", changed()),
}


def tells_stalls():
    for rxe, urxe, after in STALLS:
        harness.expect(stalls.is_stall(rxe, urxe, QUIET, after), f"no stall:\n{rxe}{urxe}{after}")
    for why, (rxe, urxe, after) in NOT_STALLS.items():
        harness.expect(not stalls.is_stall(rxe, urxe, QUIET, after), f"a stall, though {why}")
    harness.expect(stalls.missing(RXE_SERVER) == (4, 0, False), stalls.missing(RXE_SERVER))


class End:
    """A side of a link that has no device; both ends' programs run here."""
    device, mtu = "none", cells.ETHERNET_MTU

    def __init__(self, name):
        self.name, self.started, self.counted = name, [], dict(QUIET)

    def start(self, text):
        """A program that prints the text and fails."""
        self.started.append(harness.Process(["sh", "-c", 'printf %s "$1"; exit 1', "sh", text], name=self.name))
        return self.started[-1]

    def owns(self, process):
        return process in self.started

    def counters(self):
        return dict(self.counted)


def one_cell(peer, texts, rnr_naks):
    """(the result, what was printed) of a cell that fails with one pair of texts after another, rxe's first; after the
    last it succeeds."""
    near, far = End("urxe"), End(peer)
    left = list(texts)

    def fails():
        if not left:
            return
        theirs, ours = left.pop(0)
        far.counted["rcvd_rnr_err"] += rnr_naks
        near.start(ours)
        far.start(theirs).expect_success()

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runner = matrix.Runner(peers.Link(near, far, None, fixed_mtu=True))
        runner.run_all([cells.Cell("a.cell", lambda *_: fails())])
    return runner.results[0], said.getvalue()


def runs_again():
    stall, other = (RXE_CLIENT, URXE_SERVER), (RXE_CLIENT, RXE_CLIENT)
    for peer, texts, rnr_naks, outcome, count in (
            ("rxe", [], 0, reports.OK, 0),
            ("rxe", [stall], 0, reports.OK, 1),
            ("rxe", [stall] * 2, 0, reports.OK, 2),
            ("rxe", [stall] * 3, 0, reports.FAILED, 3),
            ("rxe", [stall, other], 0, reports.FAILED, 1),
            ("rxe", [other, stall], 0, reports.FAILED, 0),
            ("rxe", [stall], 1, reports.FAILED, 0),
            ("urxe", [stall], 0, reports.FAILED, 0)):
        result, printed = one_cell(peer, texts, rnr_naks)
        what = f"{peer}, {len(texts)} failures:\n{printed}"
        harness.expect((result.outcome, result.stalls) == (outcome, count), what)
        harness.expect(printed.count("rxe's requester sends no more") == count, what)
        harness.expect((f"stalled {count}: a.cell" in reports.summary([result], 1)) == (count > 0), what)


def test():
    tells_stalls()
    runs_again()
