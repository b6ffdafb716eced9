// SPDX-License-Identifier: BSD-2-Clause
// Extended reliable connections (IBTA vol. 1, annex A14).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/transport/bench.h"

namespace urxe::test::xrc_test {
namespace {

BenchOptions xrc(ibv_qp_type type) {
  BenchOptions options;
  options.type = type;
  return options;
}

/// A target with a shared receive queue in its domain.
struct TargetBench : Bench {
  explicit TargetBench(const BenchOptions& options = xrc(IBV_QPT_XRC_RECV)) : Bench(options) {}

  /// A packet that names `queue`.
  void receive_for(const SharedReceiveQueue& queue, Operation operation, uint32_t psn,
                   Headers headers = {}, const std::vector<uint8_t>& payload = {}) {
    headers.xrc_srq = queue.number;
    receive(operation, psn, headers, payload);
  }
  void receive_for_srq(Operation operation, uint32_t psn, const Headers& headers = {},
                       const std::vector<uint8_t>& payload = {}) {
    receive_for(*srq, operation, psn, headers, payload);
  }
  SharedReceiveQueue* add_queue(PdId queue_pd, XrcDomain* in) {
    return device.create_srq({queue_pd, 4, 4, in, recv_cq, nullptr}).value();
  }
  Headers to_target(uint32_t length) const { return reth(kTargetVa, target_region->rkey, length); }
  /// Expect: NAK invalid request for `psn`, and the Error state.
  void expect_invalid_request(uint32_t psn) {
    const Lines lines = sent();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].find(line("ACK psn %u nak \"invalid request\"", psn)), 0U) << lines[0];
    EXPECT_EQ(events(), (std::vector{IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_LAST_WQE_REACHED}));
    EXPECT_EQ(qp->state(), IBV_QPS_ERR);
  }
};

const std::vector<uint8_t> kFull(kMtu, 1);

// --- The initiator.

// Expect: every request packet names the shared receive queue.
TEST(XrcInitiator, NamesTheQueueInEveryRequest) {
  Bench bench(xrc(IBV_QPT_XRC_SEND));
  sim::SendRequest request;
  request.remote_srqn = Srqn{0x1234};
  request.sges = {bench.local(kMtu + 2)};
  request.remote_addr = 0x5000;
  request.rkey = RKey{0x77};
  bench.post(request);
  request.opcode = IBV_WR_RDMA_WRITE;
  bench.post(request);
  request.opcode = IBV_WR_RDMA_READ;
  request.sges = {bench.local(4)};
  bench.post(request);
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.sges = {bench.local(8)};
  bench.post(request);
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 6U);
  for (const std::string& text : lines) {
    EXPECT_NE(text.find("srq 0x1234"), std::string::npos) << text;
  }
}

TEST(XrcInitiator, Completes) {
  Bench bench(xrc(IBV_QPT_XRC_SEND));
  bench.post(IBV_WR_SEND, 4);
  bench.post(IBV_WR_RDMA_READ, 3);
  bench.post(IBV_WR_ATOMIC_CMP_AND_SWP, 8);
  EXPECT_EQ(bench.sent().size(), 3U);
  bench.receive_ack(100);
  bench.receive(Operation::kReadResponseOnly, 101, {}, {7, 8, 9});
  Headers atomic;
  atomic.atomic_original = 55;
  bench.receive(Operation::kAtomicAcknowledge, 102, atomic);
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
  uint64_t original = 0;
  std::memcpy(&original, bench.memory.data(), sizeof original);
  EXPECT_EQ(original, 55U);
}

// Expect: requests to an initiator and responses to a target are dropped.
TEST(XrcInitiator, TakesNoRequestsAndTheTargetNoResponses) {
  Bench initiator(xrc(IBV_QPT_XRC_SEND));
  initiator.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(initiator.dropped(DropReason::kWrongService), 1U);
  TargetBench target;
  target.receive_ack(100);
  EXPECT_EQ(target.dropped(DropReason::kWrongService), 1U);
  EXPECT_EQ(initiator.sent(), Lines{});
  EXPECT_EQ(target.sent(), Lines{});
}

// --- The target.

// Expect: the completion is on the shared queue's completion queue and says which target it was.
TEST(XrcTarget, Receives) {
  TargetBench bench;
  bench.post_shared();
  bench.receive_for_srq(Operation::kSendFirst, 200, {}, kFull);
  bench.receive_for_srq(Operation::kSendLast, 201, {}, {9});
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].wr_id, 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].byte_len, kMtu + 1);
  EXPECT_EQ(wcs[0].qp_num, Bench::kQpn);
  EXPECT_EQ(wcs[0].src_qp, Bench::kPeerQpn);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 9);
}

// Expect: a target serves any queue of its domain, message by message.
TEST(XrcTarget, ServesAllQueuesOfItsDomain) {
  TargetBench bench;
  SharedReceiveQueue* other = bench.add_queue(bench.pd, bench.domain);
  bench.post_shared();
  bench.post_shared(*other);
  bench.receive_for(*other, Operation::kSendOnly, 200, {}, {1});
  bench.receive_for_srq(Operation::kSendOnly, 201, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{2, IBV_WC_SUCCESS}, {1, IBV_WC_SUCCESS}}));
}

TEST(XrcTarget, ReceiverNotReadyWhileTheQueueIsEmpty) {
  TargetBench bench;
  bench.receive_for_srq(Operation::kSendOnly, 200, {}, {1});
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("rnr_nak"), std::string::npos) << lines[0];
  bench.post_shared();
  bench.receive_for_srq(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: WRITE, READ and atomics need no element.
TEST(XrcTarget, OneSidedOperations) {
  TargetBench bench;
  bench.receive_for_srq(Operation::kWriteOnly, 200, bench.to_target(8), {1, 0, 0, 0, 0, 0, 0, 0});
  Headers atomic;
  atomic.atomic = {Bench::kTargetVa, bench.target_region->rkey, 4, 0};
  bench.receive_for_srq(Operation::kFetchAdd, 201, atomic);
  bench.receive_for_srq(Operation::kReadRequest, 202, bench.to_target(8));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].find("ATOMIC ACK psn 201"), 0U) << lines[0];
  EXPECT_EQ(lines[1].find("READ Response Only psn 202"), 0U) << lines[1];
  EXPECT_EQ(bench.payloads()[1], (std::vector<uint8_t>{5, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// Expect: a duplicate is answered again, whichever queue was named in between.
TEST(XrcTarget, DuplicateRead) {
  TargetBench bench;
  SharedReceiveQueue* other = bench.add_queue(bench.device.alloc_pd().value(), bench.domain);
  bench.receive_for_srq(Operation::kReadRequest, 200, bench.to_target(2));
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_for(*other, Operation::kWriteOnly, 201, bench.reth(0, RKey{}, 0));
  bench.sent();
  bench.receive_for_srq(Operation::kReadRequest, 200, bench.to_target(2));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("READ Response Only psn 200"), 0U) << lines[0];
}

// Expect: remote keys are of the named queue's protection domain.
TEST(XrcTarget, RemoteKeysAreOfTheQueuesDomain) {
  for (const Operation operation : {Operation::kWriteOnly, Operation::kReadRequest}) {
    TargetBench bench;
    SharedReceiveQueue* other = bench.add_queue(bench.device.alloc_pd().value(), bench.domain);
    const std::vector<uint8_t> payload(operation == Operation::kWriteOnly ? 1U : 0U);
    bench.receive_for_srq(operation, 200, bench.to_target(1), payload);
    bench.sent();
    bench.receive_for(*other, operation, 201, bench.to_target(1), payload);
    const Lines lines = bench.sent();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].find("ACK psn 201 nak \"remote access error\""), 0U) << lines[0];
    EXPECT_EQ(bench.qp->error_cause.check, Check::kOtherDomainOfQueue);
  }
}

// Expect: the name of no queue, of another domain's, or of a basic queue is an invalid request.
TEST(XrcTarget, QueuesThatItDoesNotServe) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    TargetBench bench;
    SharedReceiveQueue* other = bench.add_queue(bench.pd, bench.device.alloc_domain().value());
    SharedReceiveQueue* basic =
        bench.device.create_srq({bench.pd, 4, 1, nullptr, nullptr, nullptr}).value();
    const Srqn names[] = {Srqn{0}, Srqn{0x777777}, other->number, basic->number};
    Headers headers;
    headers.xrc_srq = names[kind];
    bench.receive(Operation::kSendOnly, 200, headers, {1});
    bench.expect_invalid_request(200);
  }
}

// Expect: a message is one queue's.
TEST(XrcTarget, AnotherQueueInTheMiddleOfAMessage) {
  TargetBench bench;
  SharedReceiveQueue* other = bench.add_queue(bench.pd, bench.domain);
  bench.post_shared();
  bench.post_shared(*other);
  bench.receive_for_srq(Operation::kSendFirst, 200, {}, kFull);
  bench.receive_for(*other, Operation::kSendLast, 201, {}, {1});
  bench.expect_invalid_request(201);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(other->waiting(), 1U);
}

// Expect: the queue may go while a target holds an element of it: the message is refused.
TEST(XrcTarget, QueueDestroyedInTheMiddleOfAMessage) {
  TargetBench bench;
  bench.post_shared();
  bench.receive_for_srq(Operation::kSendFirst, 200, {}, kFull);
  const Srqn number = bench.srq->number;
  ASSERT_TRUE(bench.device.destroy_srq(bench.srq));
  ASSERT_TRUE(bench.device.destroy_cq(bench.recv_cq));
  Headers headers;
  headers.xrc_srq = number;
  bench.receive(Operation::kSendLast, 201, headers, {1});
  bench.expect_invalid_request(201);
}

// Expect: the completions of a target that is reset stay: they are the shared queue's.
TEST(XrcTarget, ResetKeepsTheQueuesCompletions) {
  TargetBench bench;
  bench.post_shared();
  bench.receive_for_srq(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: where the completion queue overflows the shared queue is in error, and says so once.
TEST(XrcTarget, CompletionQueueOverflow) {
  BenchOptions options = xrc(IBV_QPT_XRC_RECV);
  options.cq_entries = 1;
  TargetBench bench(options);
  for (int i = 0; i < 3; ++i) bench.post_shared();
  bench.receive_for_srq(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  bench.receive_for_srq(Operation::kSendOnly, 201, {}, {1});
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR, IBV_EVENT_QP_FATAL,
                                         IBV_EVENT_QP_LAST_WQE_REACHED}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: the ACK waits for company while the application polls, and not where it waits for an
// event.
TEST(XrcTarget, AcknowledgesAtOnceWhereAnEventIsAwaited) {
  TargetBench bench;
  Headers asks;
  asks.bth.ack_req = true;
  bench.post_shared();
  bench.post_shared();
  bench.receive_for_srq(Operation::kSendOnly, 200, asks, {1});
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), Lines{});
  bench.recv_cq->arm(false);
  bench.receive_for_srq(Operation::kSendOnly, 201, asks, {1});
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), (Lines{"ACK psn 201 msn 2"}));
}

// --- Making and unmaking.

TEST(Xrc, WhatEachTypeIsMadeWith) {
  Bench bench;
  XrcDomain* domain = bench.device.alloc_domain().value();
  const auto create = [&](ibv_qp_type type, auto change) {
    QpInit init;
    init.qpn = Qpn{0x40};
    init.type = type;
    init.pd = bench.pd;
    change(init);
    auto made = bench.device.create_qp(init);
    if (made) bench.device.destroy_qp(*made);
    return made ? 0 : made.error().value;
  };
  const auto target = [&](QpInit& init) { init.domain = domain; };
  const auto initiator = [&](QpInit& init) { init.send_cq = bench.send_cq; };
  EXPECT_EQ(create(IBV_QPT_XRC_RECV, target), 0);
  EXPECT_EQ(create(IBV_QPT_XRC_SEND, initiator), 0);
  EXPECT_EQ(create(IBV_QPT_XRC_RECV, initiator), EINVAL);
  EXPECT_EQ(create(IBV_QPT_XRC_SEND, target), EINVAL);
  EXPECT_EQ(create(IBV_QPT_RC, target), EINVAL);
  SharedReceiveQueue* srq =
      bench.device.create_srq({bench.pd, 1, 1, domain, bench.recv_cq, nullptr}).value();
  EXPECT_EQ(create(IBV_QPT_RC,
                   [&](QpInit& init) {
                     init.send_cq = init.recv_cq = bench.send_cq;
                     init.srq = srq;
                   }),
            EINVAL);
  EXPECT_EQ(bench.device.create_srq({bench.pd, 1, 1, domain, nullptr, nullptr}).error().value,
            EINVAL);
  EXPECT_EQ(
      bench.device.create_srq({bench.pd, 1, 1, nullptr, bench.recv_cq, nullptr}).error().value,
      EINVAL);
}

TEST(Xrc, BusyWhileTheyAreUsed) {
  TargetBench bench;
  EXPECT_EQ(bench.device.destroy_cq(bench.recv_cq).error().value, EBUSY);
  bench.device.destroy_qp(bench.qp);
  EXPECT_EQ(bench.device.dealloc_domain(bench.domain).error().value, EBUSY);
  EXPECT_TRUE(bench.device.destroy_srq(bench.srq));
  EXPECT_TRUE(bench.device.dealloc_domain(bench.domain));
  EXPECT_TRUE(bench.device.destroy_cq(bench.recv_cq));
}

// Expect: attributes of the half that a type lacks may be given, and mean nothing.
TEST(Xrc, AttributesOfTheMissingHalf) {
  for (const ibv_qp_type type : {IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV}) {
    Bench bench(xrc(type));
    ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
    sim::ConnectOptions connect = BenchOptions().connect;
    connect.destination = bench.flow_from_peer().source;
    connect.dest_qpn = Qpn{Bench::kPeerQpn};
    Device& device = bench.device;
    EXPECT_TRUE(
        device.modify_qp(*bench.qp, sim::init_attributes(connect), sim::kInitMask, bench.now));
    EXPECT_TRUE(
        device.modify_qp(*bench.qp, sim::rtr_attributes(connect), sim::kRtrMask, bench.now));
    EXPECT_TRUE(
        device.modify_qp(*bench.qp, sim::rts_attributes(connect), sim::kRtsMask, bench.now));
    EXPECT_EQ(bench.qp->attr.max_dest_rd_atomic, type == IBV_QPT_XRC_SEND ? 0 : 4);
    EXPECT_EQ(bench.qp->attr.max_rd_atomic, type == IBV_QPT_XRC_SEND ? 4 : 0);
  }
}

}  // namespace
}  // namespace urxe::test::xrc_test
