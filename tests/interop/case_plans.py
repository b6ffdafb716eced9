# SPDX-License-Identifier: BSD-2-Clause
"""What the recorded cases do with queue pairs of their own: plans that both ends (case_run.py) follow.

A case has plans; each gets queue pairs, memory and packet sequence numbers of its own. The requester posts a plan's
operations, the responder has what they need; both know what every byte has to be.
"""

from typing import NamedTuple, Optional

ALL_BITS = (1 << 64) - 1


class Operation(NamedTuple):
    """A work request of the requester.

    kind      send, send_imm, send_inv, write, write_imm, read, fetch_add, cmp_swap
    status    of its completion, a name of IBV_WC_*; several where devices differ: "REM_OP_ERR|REM_INV_REQ_ERR"
    place     whose place in the memories it uses: an index of the plan's operations; None: its own
    key       of the remote memory: region; window (Plan.window); other, of a region without remote rights; wrong
    beyond    bytes to add to the remote address
    """
    kind: str
    size: int = 8
    status: str = "SUCCESS"
    fence: bool = False
    solicited: bool = False
    place: Optional[int] = None
    key: str = "region"
    beyond: int = 0
    compare_add: int = 0
    swap: int = 0
    original: int = 0  # What an atomic has to find.

    @property
    def takes_receive(self):
        return self.kind.startswith("send") or self.kind == "write_imm"

    @property
    def is_atomic(self):
        return self.kind in ("fetch_add", "cmp_swap")


class Plan(NamedTuple):
    """Operations and the queue pairs for them.

    batch         so many are posted before their completions are waited for
    psn           the requester's first, the responder's is 2 more; None: random
    rights        of the responder's queue pair: the letters w, r, a for remote write, read, atomic
    responder     ready; late: posts its receives after some time only; never: posts none; gone: destroys its queue pair
    receive_size  of all receives; None: what each message needs
    timeout       the requester's local ACK timeout, a code; 18 is 1.07 s, long enough for a peer that is emulated
    rnr_timer     the responder's, a code
    """
    operations: tuple
    service: str = "rc"
    family: str = "ipv4"
    mtu: int = 1024
    batch: int = 1
    psn: Optional[int] = None
    rights: str = "wra"
    shared: bool = False
    responder: str = "ready"
    receive_size: Optional[int] = None
    window: bool = False
    timeout: int = 18
    retries: int = 7
    rnr_retries: int = 7
    rnr_timer: int = 12


class Case(NamedTuple):
    """name: of the captures; faults: loss_request, loss_response, duplicate, reorder or none."""
    name: str
    what: str
    plans: tuple
    faults: str = ""

    @property
    def interface_mtu(self):
        return 4500 if any(plan.mtu > 1024 for plan in self.plans) else 1500


def _each(kind, *sizes, **more):
    return tuple(Operation(kind, size, solicited=kind == "send" and index % 2 == 1, **more)
                 for index, size in enumerate(sizes))


_SIZES = (0, 1, 4, 64, 1023, 1024, 1025, 2048, 3077)
_READ_SIZES = (0, 1, 64, 1024, 1025, 2048, 8195)
_SEND, _WRITE = _each("send", *_SIZES), _each("write", *_SIZES)


def _reads(**more):
    return (Plan(_each("read", *_READ_SIZES), **more), Plan(_each("read", 5000, 5000, 5000, 5000), batch=4, **more))


_ATOMICS = (
    Operation("fetch_add", place=0, compare_add=5, original=100),
    Operation("cmp_swap", place=0, compare_add=105, swap=ALL_BITS - 1, original=105),
    Operation("cmp_swap", place=0, compare_add=1, swap=7, original=ALL_BITS - 1),
    Operation("fetch_add", place=0, compare_add=3, original=ALL_BITS - 1),
)
_FENCED = (Operation("read", 4096), Operation("write", 4096, fence=True), Operation("send", 4096, fence=True))
_WINDOW = (Operation("write", 100, key="window"), Operation("send_inv", 32),
           Operation("write", 100, key="window", status="REM_ACCESS_ERR"))


def _access(kind, size=100, **more):
    return Plan((Operation(kind, size, status="REM_ACCESS_ERR", **more),))


_ACCESS = (_access("write", key="wrong"), _access("read", key="wrong"), _access("read", beyond=1 << 20),
           _access("write", 3072, beyond=1 << 20), _access("write", key="other"), _access("read", key="other"),
           _access("fetch_add", 8, key="other"))


def _not_enabled(kind, rights, size=100):
    return Plan((Operation(kind, size, status="REM_INV_REQ_ERR"),), rights=rights)


_INVALID = (_not_enabled("write", "ra"), _not_enabled("read", "wa"), _not_enabled("fetch_add", "wr", 8))
_TOO_SMALL = Plan((Operation("send", 1500, status="REM_OP_ERR|REM_INV_REQ_ERR"),), receive_size=1000)


def _wrap(kind):
    return Plan(_each(kind, 3000, 2049, 3072, 2500), psn=0xFFFFFC)


def _path_mtu(mtu, *kinds):
    sizes = (0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu + 5) if mtu < 4096 else (0, 1, mtu, mtu + 1, 2 * mtu + 5)
    return tuple(Plan(_each(kind, *sizes), mtu=mtu) for kind in kinds)


def _datagrams(family):
    operations = tuple(Operation("send_imm" if index % 2 else "send", size)
                       for index, size in enumerate((0, 1, 64, 1023, 1024)))
    return (Plan(operations, "ud", family),)


_UD_4096 = Plan((Operation("send", 4096), Operation("send_imm", 7)), "ud", mtu=4096)
_UC_SIZES = (0, 1, 1024, 3077)
_MIX = Plan((Operation("send", 2049), Operation("write", 2500), Operation("read", 3000),
             Operation("fetch_add", compare_add=9, original=100)) * 5, batch=4, timeout=14)

CASES = (
    Case("rc_send", "SEND only/first/middle/last, 0 to 3 MTU + 5 bytes, odd ones solicited, PMTU 1024", (Plan(_SEND),)),
    Case("rc_send_v6", "the same over IPv6", (Plan(_SEND, family="ipv6"),)),
    Case("rc_send_imm", "SEND with immediate", (Plan(_each("send_imm", 0, 10, 1024, 2057)),)),
    Case("rc_send_inv", "SEND with invalidate of a type 2 memory window, then a WRITE to the dead window (NAK)",
         (Plan(_WINDOW, window=True),)),
    Case("rc_write", "RDMA WRITE, 0 to 3 MTU + 5 bytes", (Plan(_WRITE),)),
    Case("rc_write_v6", "the same over IPv6", (Plan(_WRITE, family="ipv6"),)),
    Case("rc_write_imm", "RDMA WRITE with immediate", (Plan(_each("write_imm", 0, 7, 1024, 2057)),)),
    Case("rc_read", "RDMA READ, 0 to 8 MTU + 3 bytes, then 4 outstanding", _reads()),
    Case("rc_read_v6", "the same over IPv6", _reads(family="ipv6")),
    Case("rc_atomic", "FETCH_ADD, CMP_SWAP hit, CMP_SWAP miss, FETCH_ADD that wraps", (Plan(_ATOMICS),)),
    Case("rc_mixed_fence", "READ, fenced WRITE, fenced SEND in one go, 4096 bytes each", (Plan(_FENCED, batch=3),)),
    Case("rc_burst", "60 SENDs of 500 bytes outstanding", (Plan(_each("send", *[500] * 60), batch=60),)),
    Case("rc_mtu256", "SEND, WRITE, READ at PMTU 256", _path_mtu(256, "send", "write", "read")),
    Case("rc_mtu2048", "SEND, READ at PMTU 2048", _path_mtu(2048, "send", "read")),
    Case("rc_mtu4096", "SEND, WRITE, UD SEND at PMTU 4096", (*_path_mtu(4096, "send", "write"), _UD_4096)),
    Case("rc_psn_wrap", "3-packet SENDs and READs over the wrap, from PSN 0xfffffc", (_wrap("send"), _wrap("read"))),
    Case("rc_srq", "SEND to a queue pair with a shared receive queue",
         (Plan(_each("send", 10, 1024, 3500), shared=True),)),
    Case("nak_access", "NAK remote access error: wrong key, beyond the bounds, a region without the right", _ACCESS),
    Case("nak_invalid", "operations that the responder's queue pair does not allow: NAK invalid request", _INVALID),
    Case("nak_recv_too_small",
         "SEND longer than the receive: rxe answers NAK remote operational error, urxe NAK invalid request",
         (_TOO_SMALL,)),
    Case("rnr_nak", "RNR NAKs (timer code 20) until a receive is posted, then the ACK",
         (Plan((Operation("send", 100),), responder="late", rnr_timer=20),)),
    Case("rnr_exceeded", "RNR NAKs until rnr_retry 2 is used up",
         (Plan((Operation("send", 100, status="RNR_RETRY_EXC_ERR"),), responder="never", rnr_retries=2,
               rnr_timer=14),)),
    Case("retry_exceeded", "WRITE to a destroyed queue pair: silence, repeats (timeout 14, retry count 2), given up",
         (Plan((Operation("write", 100, status="RETRY_EXC_ERR"),), responder="gone", timeout=14, retries=2),)),
    Case("uc_send", "UC SEND only/first/middle/last, with and without immediate",
         (Plan(_each("send", *_UC_SIZES), "uc"), Plan(_each("send_imm", 1, 16, 2064), "uc"))),
    Case("uc_write", "UC WRITE, with and without immediate",
         (Plan(_each("write", *_UC_SIZES), "uc"), Plan(_each("write_imm", 0, 7, 2057), "uc"))),
    Case("ud_send_v4", "UD SEND, 0 to 1 MTU, odd ones with immediate", _datagrams("ipv4")),
    Case("ud_send_v6", "the same over IPv6", _datagrams("ipv6")),
    Case("loss_request", "15 % of the requester's packets lost", (_MIX,), "loss_request"),
    Case("loss_response", "15 % of the responder's packets lost", (_MIX,), "loss_response"),
    Case("duplicate", "30 % of the requester's packets twice", (_MIX,), "duplicate"),
    Case("reorder", "25 % of the requester's packets out of order", (_MIX,), "reorder"),
)


def case_named(name):
    return next(case for case in CASES if case.name == name)
