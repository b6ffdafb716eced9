# SPDX-License-Identifier: BSD-2-Clause
"""A queue pair with its memory for one plan of case_plans.py, by pyverbs over the stock libibverbs."""

import random
import socket
import time

import pyverbs.enums as verbs
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PATIENCE = 60  # Seconds for one completion.
QKEY = 0x11111111
GRH = 40
DEPTH = 64
IMMEDIATE = 0xA5000000  # The operation's index is added.
_SERVICES = {"rc": verbs.IBV_QPT_RC, "uc": verbs.IBV_QPT_UC, "ud": verbs.IBV_QPT_UD}
_MTUS = {256: verbs.IBV_MTU_256, 1024: verbs.IBV_MTU_1024, 2048: verbs.IBV_MTU_2048, 4096: verbs.IBV_MTU_4096}
_OPCODES = {
    "send": verbs.IBV_WR_SEND, "send_imm": verbs.IBV_WR_SEND_WITH_IMM, "send_inv": verbs.IBV_WR_SEND_WITH_INV,
    "write": verbs.IBV_WR_RDMA_WRITE, "write_imm": verbs.IBV_WR_RDMA_WRITE_WITH_IMM, "read": verbs.IBV_WR_RDMA_READ,
    "fetch_add": verbs.IBV_WR_ATOMIC_FETCH_AND_ADD, "cmp_swap": verbs.IBV_WR_ATOMIC_CMP_AND_SWP,
}
_LOCAL = verbs.IBV_ACCESS_LOCAL_WRITE
_REMOTE = {"w": verbs.IBV_ACCESS_REMOTE_WRITE, "r": verbs.IBV_ACCESS_REMOTE_READ, "a": verbs.IBV_ACCESS_REMOTE_ATOMIC}
_STATE, _PORT = verbs.IBV_QP_STATE, verbs.IBV_QP_PORT


def status_name(completion):
    """SUCCESS, REM_ACCESS_ERR, ..."""
    names = (name for name in dir(verbs) if name.startswith("IBV_WC_") and name.endswith(("SUCCESS", "ERR")))
    return next((name.removeprefix("IBV_WC_") for name in names if getattr(verbs, name) == completion.status),
                str(completion.status))


def places(plan):
    """The offset of each operation's bytes in both memories, and how long these are."""
    offsets, end = [], 0
    for operation in plan.operations:
        offsets.append(end)
        end += -(-max(operation.size, 8) // 64) * 64
    for index, operation in enumerate(plan.operations):
        if operation.place is not None:
            offsets[index] = offsets[operation.place]
    return offsets, max(end, 64)


class Endpoint:
    """One end's resources for a plan; close() destroys them."""

    def __init__(self, context, gid_index, plan, psn):
        self.plan, self._context, self._gid_index = plan, context, gid_index
        self.psn = random.getrandbits(24) if psn is None else psn & 0xFFFFFF
        self.offsets, length = places(plan)
        self.pd, self.cq = PD(context), CQ(context, 2 * DEPTH)
        self.region = MR(self.pd, length, _LOCAL | sum(_REMOTE.values()) | verbs.IBV_ACCESS_MW_BIND)
        self.region.write(b"\0" * length, length)
        self.other = MR(self.pd, length, _LOCAL)
        self._receive_places, end = {}, 0
        for index, operation in enumerate(plan.operations):
            if operation.takes_receive:
                self._receive_places[index] = (end, self._receive_length(operation))
                end += self._receive_length(operation)
        self.receive_region = MR(self.pd, max(end, 64), _LOCAL)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=DEPTH))) if plan.shared else None
        init = QPInitAttr(qp_type=_SERVICES[plan.service], scq=self.cq, rcq=self.cq, srq=self.srq, sq_sig_all=1,
                          cap=QPCap(max_send_wr=DEPTH, max_recv_wr=0 if plan.shared else DEPTH))
        self.qp = QP(self.pd, init)

    def _receive_length(self, operation):
        needed = operation.size if operation.kind != "write_imm" else 0
        return (self.plan.receive_size or needed) + (GRH if self.plan.service == "ud" else 0)

    def close(self):
        for resource in (self.qp, self.srq, self.pd, self.cq):
            if resource is not None:
                resource.close()

    def description(self):
        """What the other end needs to know."""
        return {"qpn": self.qp.qp_num, "psn": self.psn, "gid": self._context.query_gid(1, self._gid_index).gid,
                "va": self.region.buf, "rkey": self.region.rkey,
                "other_va": self.other.buf, "other_rkey": self.other.rkey}

    def initialize(self):
        attributes = QPAttr(qp_state=verbs.IBV_QPS_INIT, port_num=1)
        mask = _STATE | _PORT | verbs.IBV_QP_PKEY_INDEX
        if self.plan.service == "ud":
            attributes.qkey, mask = QKEY, mask | verbs.IBV_QP_QKEY
        else:
            # By a queue pair that only writes, atomics and reads are refused also where the region allows them.
            attributes.qp_access_flags = _LOCAL | sum(_REMOTE[letter] for letter in self.plan.rights)
            mask |= verbs.IBV_QP_ACCESS_FLAGS
        self.qp.modify(attributes, mask)

    def connect(self, peer):
        """To the endpoint with this description; ready to send afterwards."""
        self.peer = peer
        route = GlobalRoute(dgid=GID(peer["gid"]), sgid_index=self._gid_index, hop_limit=64)
        path = AHAttr(gr=route, is_global=1, port_num=1)
        receive, send = QPAttr(qp_state=verbs.IBV_QPS_RTR), QPAttr(qp_state=verbs.IBV_QPS_RTS)
        receive_mask, send_mask = _STATE, _STATE | verbs.IBV_QP_SQ_PSN
        send.sq_psn = self.psn
        if self.plan.service == "ud":
            self.address = AH(self.pd, attr=path)
        else:
            receive.ah_attr, receive.path_mtu = path, _MTUS[self.plan.mtu]
            receive.dest_qp_num, receive.rq_psn = peer["qpn"], peer["psn"]
            receive_mask |= verbs.IBV_QP_AV | verbs.IBV_QP_PATH_MTU | verbs.IBV_QP_DEST_QPN | verbs.IBV_QP_RQ_PSN
        if self.plan.service == "rc":
            receive.max_dest_rd_atomic, receive.min_rnr_timer = 4, self.plan.rnr_timer
            receive_mask |= verbs.IBV_QP_MAX_DEST_RD_ATOMIC | verbs.IBV_QP_MIN_RNR_TIMER
            send.timeout, send.retry_cnt, send.rnr_retry = self.plan.timeout, self.plan.retries, self.plan.rnr_retries
            send.max_rd_atomic = 4
            send_mask |= (verbs.IBV_QP_TIMEOUT | verbs.IBV_QP_RETRY_CNT | verbs.IBV_QP_RNR_RETRY
                          | verbs.IBV_QP_MAX_QP_RD_ATOMIC)
        self.qp.modify(receive, receive_mask)
        self.qp.modify(send, send_mask)

    def post_receives(self):
        for index, (offset, length) in self._receive_places.items():
            sge = SGE(self.receive_region.buf + offset, length, self.receive_region.lkey)
            (self.srq or self.qp).post_recv(RecvWR(wr_id=index, sg=[sge], num_sge=1))

    def bind_window(self):
        """The key of a type 2 memory window of the region."""
        self.window = MW(self.pd, verbs.IBV_MW_TYPE_2)
        request = SendWR(opcode=verbs.IBV_WR_BIND_MW, send_flags=verbs.IBV_SEND_SIGNALED)
        info = MWBindInfo(self.region, self.region.buf, self.region.length, verbs.IBV_ACCESS_REMOTE_WRITE)
        request.set_bind_wr(self.window, info)
        self.qp.post_send(request)
        completion = self.next_completion()
        if status_name(completion) != "SUCCESS":
            raise RuntimeError(f"binding a window: {status_name(completion)}")
        return request.rkey

    def post(self, index):
        operation = self.plan.operations[index]
        sge = SGE(self.region.buf + self.offsets[index], operation.size, self.region.lkey)
        flags = verbs.IBV_SEND_SIGNALED
        flags |= verbs.IBV_SEND_FENCE if operation.fence else 0
        flags |= verbs.IBV_SEND_SOLICITED if operation.solicited else 0
        request = SendWR(wr_id=index, opcode=_OPCODES[operation.kind], sg=[sge], num_sge=1, send_flags=flags)
        keys = {"region": self.peer["rkey"], "other": self.peer["other_rkey"], "wrong": 0x7FFF0001,
                "window": self.peer.get("window", 0)}
        target = self.peer["other_va" if operation.key == "other" else "va"] + self.offsets[index] + operation.beyond
        if operation.kind.endswith("_imm"):
            request.imm_data = socket.htonl(IMMEDIATE + index)
        elif operation.kind == "send_inv":
            request.imm_data = self.peer["window"]
        if operation.is_atomic:
            request.set_wr_atomic(keys[operation.key], target, operation.compare_add, operation.swap)
        elif not operation.kind.startswith("send"):
            request.set_wr_rdma(keys[operation.key], target)
        elif self.plan.service == "ud":
            request.set_wr_ud(self.address, self.peer["qpn"], QKEY)
        self.qp.post_send(request)

    def next_completion(self):
        # Asks now and then: a program that spins takes the processor from an emulated device.
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            count, completions = self.cq.poll(1)
            if count:
                return completions[0]
            time.sleep(0.001)
        raise RuntimeError(f"no completion within {PATIENCE} s")

    def received(self, index):
        """The bytes of a receive's buffer that are the message's place."""
        offset, length = self._receive_places[index]
        header = GRH if self.plan.service == "ud" else 0
        return self.receive_region.read(length - header, offset + header) if length > header else b""
