// SPDX-License-Identifier: BSD-2-Clause
// Shared receive queues (IBTA vol. 1, 10.2.9).
#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr uint32_t kOtherQpn = 0x12;

BenchOptions shared(ibv_qp_type type = IBV_QPT_RC) {
  BenchOptions options;
  options.type = type;
  options.shared_receives = true;
  return options;
}

/// Two queue pairs of one shared receive queue.
struct SharedBench : Bench {
  explicit SharedBench(const BenchOptions& options = shared()) : Bench(options) {
    other = add(kOtherQpn);
  }
  QueuePair* add(uint32_t number) {
    QpInit init;
    init.qpn = Qpn{number};
    init.pd = pd;
    init.send_cq = send_cq;
    init.recv_cq = recv_cq;
    init.srq = srq;
    init.cap = {4, 0, 1, 0, 0};
    QueuePair* made = device.create_qp(init).value();
    sim::ConnectOptions connect = BenchOptions().connect;
    connect.destination = flow_from_peer().source;
    connect.dest_qpn = Qpn{kPeerQpn};
    EXPECT_TRUE(sim::connect(device, *made, connect, now));
    return made;
  }
  void receive_on(uint32_t qpn, Operation operation, uint32_t psn,
                  const std::vector<uint8_t>& payload) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kRc, operation);
    headers.bth.dest_qp = Qpn{qpn};
    headers.bth.psn = Psn{psn};
    receive_raw(headers, flow_from_peer(), payload);
  }
  QueuePair* other = nullptr;
};

const std::vector<uint8_t> kFull(kMtu, 1);

// Expect: each message has the element that was the oldest at its start; they end in any order.
TEST(Srq, AnElementBelongsToAMessage) {
  SharedBench bench;
  bench.post_shared();
  bench.post_shared();
  bench.receive(Operation::kSendFirst, 200, {}, kFull);
  bench.receive_on(kOtherQpn, Operation::kSendOnly, 200, {1});
  bench.receive(Operation::kSendLast, 201, {}, {2});
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 2U);
  EXPECT_EQ(wcs[0].wr_id, 2U);
  EXPECT_EQ(wcs[0].qp_num, kOtherQpn);
  EXPECT_EQ(wcs[1].wr_id, 1U);
  EXPECT_EQ(wcs[1].qp_num, Bench::kQpn);
  EXPECT_EQ(wcs[1].byte_len, kMtu + 1);
}

// Expect: a new element can take the place of one in use, and does not disturb it.
TEST(Srq, APlaceIsFreeOnceItsElementIsTaken) {
  BenchOptions options = shared();
  options.srq_wrs = 1;
  Bench bench(options);
  bench.post_shared(kMtu + 1);
  EXPECT_FALSE(sim::post_receive(*bench.srq, 99, {}));
  bench.receive(Operation::kSendFirst, 200, {}, kFull);
  EXPECT_TRUE(sim::post_receive(*bench.srq, 99, {}));
  bench.receive(Operation::kSendLast, 201, {}, {7});
  bench.receive(Operation::kSendOnly, 202, {}, {});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {99, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 7);
}

TEST(Srq, ReceiverNotReadyWhileItIsEmpty) {
  Bench bench(shared());
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("rnr_nak"), std::string::npos) << lines[0];
  bench.post_shared();
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: only the last packet of a WRITE with immediate takes an element.
TEST(Srq, WriteWithImmediate) {
  Bench bench(shared());
  bench.post_shared();
  const Headers reth = bench.reth(Bench::kTargetVa, bench.target_region->rkey, kMtu + 1);
  bench.receive(Operation::kWriteFirst, 200, reth, kFull);
  EXPECT_EQ(bench.srq->waiting(), 1U);
  bench.receive(Operation::kWriteLastImm, 201, reth, {1});
  EXPECT_EQ(bench.srq->waiting(), 0U);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// 9.7.7.2. Expect: no credits are promised: others may take the elements.
TEST(Srq, AcknowledgesWithoutCredits) {
  Bench bench(shared());
  bench.post_shared();
  bench.post_shared();
  Headers asks;
  asks.bth.ack_req = true;
  bench.receive(Operation::kSendOnly, 200, asks, {1});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 msn 1"}));
}

// Expect: lists are checked against the queue's protection domain, not the queue pair's.
// Once: the words for the failure named the domain of the queue pair.
TEST(Srq, KeysAreOfTheQueuesDomain) {
  Bench bench(shared());
  const PdId other = bench.device.alloc_pd().value();
  SharedReceiveQueue* srq =
      bench.device.create_srq({other, 4, 1, nullptr, nullptr, nullptr}).value();
  QpInit init;
  init.qpn = Qpn{0x13};
  init.pd = bench.pd;
  init.send_cq = bench.send_cq;
  init.recv_cq = bench.recv_cq;
  init.srq = srq;
  QueuePair* qp = bench.device.create_qp(init).value();
  sim::ConnectOptions connect = BenchOptions().connect;
  connect.destination = bench.flow_from_peer().source;
  connect.dest_qpn = Qpn{Bench::kPeerQpn};
  ASSERT_TRUE(sim::connect(bench.device, *qp, connect, bench.now));
  const MemoryRegion* region =
      bench.device.register_memory(other, bench.memory.data(), 64, 0, IBV_ACCESS_LOCAL_WRITE)
          .value();
  const Sge right{0, 64, region->lkey};
  const Sge wrong = bench.local(64);
  ASSERT_TRUE(sim::post_receive(*srq, 1, {&right, 1}));
  ASSERT_TRUE(sim::post_receive(*srq, 2, {&wrong, 1}));
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = init.qpn;
  for (const uint32_t psn : {200U, 201U}) {
    headers.bth.psn = Psn{psn};
    bench.receive_raw(headers, bench.flow_from_peer(), {1});
  }
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_LOC_PROT_ERR}}));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 nak \"remote operational error\" msn 1"}));
  EXPECT_EQ(qp->error_cause.reason, ErrorReason::kLocalReceive);
  EXPECT_EQ(qp->error_cause.check, Check::kOtherDomainOfQueue);
}

// 10.3.1. Expect: the element in use is flushed, the others stay for others; one event.
TEST(Srq, ErrorState) {
  SharedBench bench;
  bench.post_shared();
  bench.post_shared();
  bench.receive(Operation::kSendFirst, 200, {}, kFull);
  ASSERT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_QP_LAST_WQE_REACHED}));
  EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  EXPECT_EQ(bench.srq->waiting(), 1U);
  bench.receive_on(kOtherQpn, Operation::kSendOnly, 200, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

// Expect: the event comes where nothing was in use, too; not for queue pairs with a queue of their
// own.
TEST(Srq, LastElementReachedWithNoneInUse) {
  Bench bench(shared());
  bench.move_to(IBV_QPS_ERR);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_QP_LAST_WQE_REACHED}));
  Bench plain;
  plain.move_to(IBV_QPS_ERR);
  EXPECT_EQ(plain.events(), std::vector<ibv_event_type>{});
}

// 10.3.1. Expect: RESET in the middle of a message loses its element, no others.
TEST(Srq, ResetLosesTheElementInUse) {
  SharedBench bench;
  bench.post_shared();
  bench.post_shared();
  bench.receive(Operation::kSendFirst, 200, {}, kFull);
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  bench.receive_on(kOtherQpn, Operation::kSendOnly, 200, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

// Expect: UC drops the message where there is no element, and keeps what it took for a message that
// broke off for the next one.
TEST(Srq, Uc) {
  Bench bench(shared(IBV_QPT_UC));
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  bench.post_shared();
  bench.post_shared();
  bench.receive(Operation::kSendFirst, 201, {}, kFull);
  bench.receive(Operation::kSendOnly, 203, {}, {5});
  bench.receive(Operation::kSendOnly, 204, {}, {6});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

TEST(Srq, Ud) {
  Bench bench(shared(IBV_QPT_UD));
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  bench.post_shared();
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// --- ibv_modify_srq(3).

int modify(Bench& bench, uint32_t max_wr, uint32_t limit, int mask) {
  const auto result = bench.device.modify_srq(*bench.srq, {max_wr, 0, limit}, mask);
  return result ? 0 : result.error().value;
}

// Expect: one event when fewer than the limit wait, and none until it is armed again.
TEST(Srq, Limit) {
  Bench bench(shared());
  for (int i = 0; i < 4; ++i) bench.post_shared();
  EXPECT_EQ(modify(bench, 0, 3, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(bench.srq->limit, 3U);
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  bench.receive(Operation::kSendOnly, 201, {}, {1});
  const auto event = bench.device.take_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(event->srq, bench.srq);
  EXPECT_EQ(bench.srq->limit, 0U);
  bench.receive(Operation::kSendOnly, 202, {}, {1});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// Expect: a limit that is passed already is told at once; 0 disarms.
TEST(Srq, LimitThatIsPassedAlready) {
  Bench bench(shared());
  bench.post_shared();
  EXPECT_EQ(modify(bench, 0, 2, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_SRQ_LIMIT_REACHED}));
  EXPECT_EQ(modify(bench, 0, 1, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(modify(bench, 0, 0, IBV_SRQ_LIMIT), 0);
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// Expect: resizing keeps what waits, in order, and the place of what is in use.
TEST(Srq, Resize) {
  BenchOptions options = shared();
  options.srq_wrs = 3;
  Bench bench(options);
  for (int i = 0; i < 3; ++i) bench.post_shared();
  bench.receive(Operation::kSendFirst, 200, {}, kFull);
  EXPECT_EQ(modify(bench, 5, 0, IBV_SRQ_MAX_WR), 0);
  EXPECT_EQ(bench.srq->max_wr(), 5U);
  for (int i = 0; i < 3; ++i) bench.post_shared();
  EXPECT_FALSE(sim::post_receive(*bench.srq, 99, {}));
  bench.receive(Operation::kSendLast, 201, {}, {1});
  for (uint32_t psn = 202; psn < 207; ++psn) bench.receive(Operation::kSendOnly, psn, {}, {1});
  Statuses all;
  for (uint64_t id = 1; id <= 6; ++id) all.emplace_back(id, IBV_WC_SUCCESS);
  EXPECT_EQ(bench.receive_statuses(), all);
}

// Expect: EINVAL and nothing changed.
TEST(Srq, ModifyRefused) {
  Bench bench(shared());
  for (int i = 0; i < 4; ++i) bench.post_shared();
  EXPECT_EQ(modify(bench, 3, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(modify(bench, 0, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(modify(bench, kMaxSrqWorkRequests + 1, 0, IBV_SRQ_MAX_WR), EINVAL);
  EXPECT_EQ(modify(bench, 0, 17, IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(modify(bench, 8, 9, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
  EXPECT_EQ(modify(bench, 8, 2, 4), EINVAL);
  EXPECT_EQ(bench.srq->max_wr(), 16U);
  EXPECT_EQ(bench.srq->limit, 0U);
  EXPECT_EQ(modify(bench, 0, 4, IBV_SRQ_LIMIT), 0);
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(modify(bench, 3, 0, IBV_SRQ_MAX_WR), 0);
}

// --- Making and unmaking.

TEST(Srq, CreateRefused) {
  Bench bench;
  const auto create = [&](uint32_t max_wr, uint32_t max_sge) {
    const auto made =
        bench.device.create_srq({bench.pd, max_wr, max_sge, nullptr, nullptr, nullptr});
    return made ? 0 : made.error().value;
  };
  EXPECT_EQ(create(0, 1), EINVAL);
  EXPECT_EQ(create(kMaxSrqWorkRequests + 1, 1), EINVAL);
  EXPECT_EQ(create(1, kMaxSge + 1), EINVAL);
  EXPECT_EQ(create(kMaxSrqWorkRequests, kMaxSge), 0);
}

TEST(Srq, BusyWhileItIsUsed) {
  Bench bench(shared());
  EXPECT_EQ(bench.device.destroy_srq(bench.srq).error().value, EBUSY);
  const PdId pd = bench.device.alloc_pd().value();
  SharedReceiveQueue* srq = bench.device.create_srq({pd, 1, 1, nullptr, nullptr, nullptr}).value();
  EXPECT_EQ(bench.device.dealloc_pd(pd).error().value, EBUSY);
  EXPECT_TRUE(bench.device.destroy_srq(srq));
  EXPECT_TRUE(bench.device.dealloc_pd(pd));
  bench.device.destroy_qp(bench.qp);
  EXPECT_TRUE(bench.device.destroy_srq(bench.srq));
}

// Expect: a number is not used again soon.
TEST(Srq, NumbersAreNotReusedAtOnce) {
  Bench bench;
  uint32_t last = 0;
  for (int i = 0; i < 33000; ++i) {
    SharedReceiveQueue* srq =
        bench.device.create_srq({bench.pd, 1, 1, nullptr, nullptr, nullptr}).value();
    EXPECT_GT(srq->number.value(), last);
    last = srq->number.value();
    ASSERT_TRUE(bench.device.destroy_srq(srq));
  }
}

// Expect: a thread posts while another receives; every element completes once, in the order of
// posting.
TEST(Srq, PostedByAnotherThread) {
  constexpr uint64_t kCount = 5000;
  SharedBench bench;
  std::thread poster([&bench] {
    for (uint64_t id = 1; id <= kCount;) {
      if (sim::post_receive(*bench.srq, id, {})) {
        ++id;
      } else {
        std::this_thread::yield();
      }
    }
  });
  uint32_t psns[2] = {200, 200};
  for (uint64_t id = 1; id <= kCount;) {
    uint32_t& psn = psns[id % 2];
    bench.receive_on(id % 2 == 0 ? Bench::kQpn : kOtherQpn, Operation::kSendOnly, psn, {});
    const Statuses done = bench.receive_statuses();
    if (done.empty()) {
      std::this_thread::yield();  // receiver not ready: again
      continue;
    }
    ASSERT_EQ(done, (Statuses{{id, IBV_WC_SUCCESS}}));
    ++psn;
    ++id;
  }
  poster.join();
  EXPECT_EQ(bench.srq->waiting(), 0U);
}

}  // namespace
}  // namespace urxe::test
