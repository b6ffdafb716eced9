// SPDX-License-Identifier: BSD-2-Clause
// SEND with invalidate at the responder (IBTA vol. 1, 9.4.1.1.3, 10.6.5).
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/transport/memory/window_bench.h"
#include "transport/responder/responder.h"

namespace urxe::test::send_invalidate_test {
namespace {

constexpr uint64_t kVa = WindowBench::kWindowVa;

/// A bench with a bound window and a receive; PSN 200 comes next.
struct BoundBench : WindowBench {
  explicit BoundBench(const BenchOptions& options = {})
      : WindowBench(options), key(whole().new_key) {
    bind(whole());
    post_receive();
  }
  const RKey key;
};

Headers invalidate(RKey key) {
  Headers headers;
  headers.bth.ack_req = true;
  headers.invalidate = key;
  return headers;
}

Headers ack_requested() {
  Headers headers;
  headers.bth.ack_req = true;
  return headers;
}

TEST(SendInvalidate, TakesTheKeyAwayAndSaysSo) {
  BoundBench bench;
  EXPECT_TRUE(bench.write(bench.key, kVa));
  EXPECT_TRUE(bench.send_invalidate(bench.key));
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(wcs[0].wc_flags, unsigned{IBV_WC_WITH_INV});
  EXPECT_EQ(wcs[0].invalidated_rkey, bench.key.value());
  EXPECT_EQ(wcs[0].byte_len, 4U);
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_TRUE(bench.device.deregister_memory(bench.region));
}

TEST(SendInvalidate, LaterAccessIsRefused) {
  const std::function<bool(BoundBench&)> accesses[] = {
      [](BoundBench& b) { return b.write(b.key, kVa); },
      [](BoundBench& b) { return b.read(b.key, kVa); },
      [](BoundBench& b) { return b.add(b.key, kVa); }};
  for (const auto& access : accesses) {
    BoundBench bench;
    EXPECT_TRUE(bench.send_invalidate(bench.key));
    EXPECT_FALSE(access(bench));
    EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_QP_ACCESS_ERR}));
  }
}

// Expect: the first packets of a message leave the key alone, the last takes it away.
TEST(SendInvalidate, WithTheLastPacketOfAMessage) {
  BoundBench bench;
  bench.receive(Operation::kSendFirst, 200, {}, counting(kMtu));
  EXPECT_EQ(bench.region->windows, 1U);
  bench.receive(Operation::kSendLastInvalidate, 201, invalidate(bench.key), {1});
  EXPECT_EQ(bench.region->windows, 0U);
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].invalidated_rkey, bench.key.value());
  EXPECT_EQ(wcs[0].byte_len, kMtu + 1);
}

// Expect: without a receive an RNR NAK and the key still good.
TEST(SendInvalidate, NotExecutedWithoutAReceive) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.bind(request);
  bench.receive(Operation::kSendOnlyInvalidate, 200, invalidate(request.new_key));
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("rnr_nak"), std::string::npos) << lines[0];
  EXPECT_EQ(bench.region->windows, 1U);
  bench.post_receive();
  bench.receive(Operation::kSendOnlyInvalidate, 200, invalidate(request.new_key));
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: the duplicate is acknowledged again; it neither fails nor touches the window bound since.
TEST(SendInvalidate, DuplicateIsNotExecutedAgain) {
  BoundBench bench;
  EXPECT_TRUE(bench.send_invalidate(bench.key));
  BindRequest again = bench.whole();
  again.new_key = bench.key;
  bench.bind(again);
  bench.receive(Operation::kSendOnlyInvalidate, 200, invalidate(bench.key), counting(4));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_EQ(bench.region->windows, 1U);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_TRUE(bench.read(bench.key, kVa));
}

// The network delivers a READ a second time, after its key is gone. Expect: silence, and the queue
// pair goes on.
TEST(SendInvalidate, LateDuplicateReadIsHarmless) {
  BoundBench bench;
  EXPECT_TRUE(bench.read(bench.key, kVa));
  EXPECT_TRUE(bench.send_invalidate(bench.key));
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  bench.bind(bench.whole());
  EXPECT_TRUE(bench.read(bench.window->rkey, kVa));
}

// 10.8.3.3: an unfenced SEND may be executed before the READ ahead of it has been answered. Expect:
// it waits for the answer where it takes the READ's key, and nobody has to send it again.
TEST(SendInvalidate, DoesNotOvertakeAReadThroughItsKey) {
  BoundBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key), counting(5));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key), counting(5));  // again
  EXPECT_EQ(bench.region->windows, 1U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 1 msn 1 len 8",
                                 "ACK psn 201 credits 0 msn 2"}));
  EXPECT_EQ(bench.region->windows, 0U);
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].byte_len, 5U);
  EXPECT_EQ(wcs[0].invalidated_rkey, bench.key.value());
}

// Expect: what comes behind a SEND that waits is asked for again when it has been executed.
TEST(SendInvalidate, RequestsBehindOneThatWaits) {
  BoundBench bench;
  bench.post_receive();
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  bench.receive(Operation::kSendOnly, 202);
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 2 msn 1 len 8",
                                 "ACK psn 202 nak \"psn sequence error\" msn 2"}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  bench.receive(Operation::kSendOnly, 202);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

BenchOptions keeping() {
  BenchOptions options;
  options.keeps_requests = true;
  return options;
}

// Nothing is lost, so nothing may be asked for again: with no retries the requester would fail.
// Expect: what comes behind a SEND that waits is kept, and executed after it.
// The defect: it was dropped, and a NAK told of a gap.
TEST(SendInvalidate, RequestsBehindOneThatWaitsAreKept) {
  BoundBench bench(keeping());
  for (int i = 0; i < 3; ++i) bench.post_receive();
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key), counting(5));
  bench.receive(Operation::kSendOnly, 202, {}, counting(6));
  bench.receive(Operation::kSendOnly, 203, ack_requested(), counting(7));
  EXPECT_EQ(bench.receive_statuses(), Statuses{}) << "they do not overtake it";
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 4 msn 1 len 8",
                                 "ACK psn 203 credits 1 msn 4"}));
  const std::vector<ibv_wc> wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 3U);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(wcs[i].status, IBV_WC_SUCCESS);
    EXPECT_EQ(wcs[i].byte_len, 5 + i);
  }
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 0U);
  EXPECT_EQ(bench.device.counters().out_of_sequence_requests, 0U);
}

// Expect: a packet that is missing behind one that waits is asked for once that is executed.
TEST(SendInvalidate, AGapBehindOneThatWaits) {
  BoundBench bench(keeping());
  for (int i = 0; i < 2; ++i) bench.post_receive();
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  bench.receive(Operation::kSendOnly, 203, ack_requested());
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 3 msn 1 len 8",
                                 "ACK psn 202 nak \"psn sequence error\" msn 2"}));
  bench.receive(Operation::kSendOnly, 202);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 203 credits 0 msn 4"}));
  EXPECT_EQ(bench.receive_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
}

// Expect: one that finds no place is asked for once those before it have been executed.
TEST(SendInvalidate, ARequestTooFarBehindOneThatWaits) {
  constexpr auto kTooFar = static_cast<uint32_t>(HeldRequests::kFurthest) + 1;
  BoundBench bench(keeping());
  bench.post_receive();
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  bench.receive(Operation::kSendOnly, 202, ack_requested());
  bench.receive(Operation::kSendOnly, 201 + kTooFar);
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 1U);
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 2 msn 1 len 8",
                                 "ACK psn 203 nak \"psn sequence error\" msn 3"}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: one of those that were kept may have to wait, too, with those behind it.
TEST(SendInvalidate, AnotherThatWaitsBehindTheFirst) {
  BoundBench bench(keeping());
  for (int i = 0; i < 2; ++i) bench.post_receive();
  const BindRequest second = bench.ask(*bench.device.alloc_window(bench.pd, IBV_MW_TYPE_2).value());
  bench.bind(second);
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  bench.receive(Operation::kReadRequest, 202, bench.reth(kVa, second.new_key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 203, invalidate(second.new_key));
  bench.receive(Operation::kSendOnly, 204, ack_requested());
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 3 msn 1 len 8",
                                 "READ Response Only psn 202 credits 2 msn 3 len 8",
                                 "ACK psn 204 credits 0 msn 5"}));
  EXPECT_EQ(bench.receive_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 0U);
}

// Expect: a SEND that waits is flushed with its queue pair, and forgotten.
TEST(SendInvalidate, ErrorWhileOneWaits) {
  BoundBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.region->windows, 1U);
}

// Expect: the key that a waiting SEND names is invalid by then: it fails as any other.
TEST(SendInvalidate, KeyGoneWhileOneWaits) {
  BoundBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 0));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  bench.post_invalidate(bench.key);
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 1 msn 1 len 0"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_MW_BIND_ERR}}));
}

// Expect: READs through other keys, and atomics, hold nothing up.
TEST(SendInvalidate, OvertakesOtherReads) {
  BoundBench bench;
  bench.receive(Operation::kReadRequest, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8));
  bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(bench.key));
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: a READ whose key the owner takes away before its answer is refused at that response.
TEST(SendInvalidate, LocalInvalidateInTheMiddleOfAReadsAnswer) {
  BoundBench bench;
  bench.receive(Operation::kReadRequest, 200, bench.reth(kVa, bench.key, 8));
  bench.post_invalidate(bench.key);
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(" msn")), "ACK psn 200 nak \"remote access error\"");
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// A multi-packet WRITE may lose its key on the way. Expect: the rest of it is refused.
TEST(SendInvalidate, LocalInvalidateInTheMiddleOfAWrite) {
  BoundBench bench;
  BindRequest large = bench.whole();
  bench.post_invalidate(bench.key);
  large.length = 2 * kMtu;
  large.new_key = next_key(bench.key);
  bench.post_bind(large);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive(Operation::kWriteFirst, 200, bench.reth(kVa, large.new_key, kMtu + 1),
                counting(kMtu));
  EXPECT_EQ(std::memcmp(bench.backing + 1024, counting(kMtu).data(), kMtu), 0);
  bench.post_invalidate(large.new_key);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 0"}));
  bench.backing[1024 + kMtu] = 0x5a;
  bench.receive(Operation::kWriteLast, 201, {}, {1});
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].substr(0, lines[0].find(" msn")), "ACK psn 201 nak \"remote access error\"");
  EXPECT_EQ(bench.backing[1024 + kMtu], 0x5a);
}

struct Refusal {
  const char* name;
  std::function<RKey(BoundBench&)> key;
};

// 10.6.5: what a peer may not invalidate.
const Refusal kRefusals[] = {
    {"a region", [](BoundBench& b) { return b.target_region->rkey; }},
    {"a region that allows windows", [](BoundBench& b) { return b.region->rkey; }},
    {"garbage", [](BoundBench&) { return RKey{0xfffffe01}; }},
    {"zero", [](BoundBench&) { return RKey{0}; }},
    {"the window's old key", [](BoundBench& b) { return RKey{b.key.value() ^ 0x80}; }},
    {"a window that is not bound",
     [](BoundBench& b) { return b.device.alloc_window(b.pd, IBV_MW_TYPE_2).value()->rkey; }},
    {"a window of type 1",
     [](BoundBench& b) {
       MemoryWindow* window = b.device.alloc_window(b.pd, IBV_MW_TYPE_1).value();
       b.bind(b.ask(*window));
       return window->rkey;
     }},
    {"another queue pair's window",
     [](BoundBench& b) {
       MemoryWindow* window = b.device.alloc_window(b.pd, IBV_MW_TYPE_2).value();
       sim::SendRequest post;
       post.opcode = IBV_WR_BIND_MW;
       post.bind = b.ask(*window);
       EXPECT_TRUE(sim::post_send(b.device, b.other_qp(), post));
       EXPECT_EQ(b.sent(), Lines{});
       EXPECT_EQ(b.send_statuses(), (Statuses{{0, IBV_WC_SUCCESS}}));
       return window->rkey;
     }},
    {"the same twice",
     [](BoundBench& b) {
       EXPECT_TRUE(b.send_invalidate(b.key));
       EXPECT_EQ(b.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
       b.post_receive();
       return b.key;
     }},
};

/// The request before one that fails without a NAK.
struct Before {
  Operation operation;
  const char* answer;
};
const Before kBefore[] = {
    {Operation::kSendOnly, "ACK psn 200 credits 0 msn 1"},
    {Operation::kWriteOnly, "ACK psn 200 credits 0 msn 1"},
    {Operation::kReadRequest, "READ Response Only psn 200 credits 0 msn 1 len 4"},
    {Operation::kFetchAdd, "ATOMIC ACK psn 200 credits 0 msn 1 original 0x0"},
};

/// The defect: such a peer was told nothing of what had been executed for it. Expect: it gets the
/// answers, also without having asked for an ACK.
TEST(SendInvalidate, OfWhatMayNotBeLeavesEarlierAnswersOwed) {
  for (const Before& before : kBefore) {
    for (const bool ack_req : {false, true}) {
      BoundBench bench;
      bench.post_receive();
      Headers headers = bench.reth(kVa, bench.key, 4);
      headers.bth.ack_req = ack_req;
      headers.atomic = {kVa, bench.key, 1, 0};
      const bool has_payload = opcode_info(Opcode(Service::kRc, before.operation)).has_payload;
      bench.receive(before.operation, 200, headers,
                    has_payload ? counting(4) : std::vector<uint8_t>{});
      bench.receive(Operation::kSendOnlyInvalidate, 201, invalidate(RKey{0}), counting(4));
      EXPECT_EQ(bench.sent(), Lines{before.answer});
      EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
      bench.pass(seconds(1));
      EXPECT_EQ(bench.sent(), Lines{});
    }
  }
}

// 9.9.6.3, class J. Expect: the receive in error, the Error state, and nothing to the peer.
TEST(SendInvalidate, OfWhatMayNotBe) {
  for (const Refusal& refusal : kRefusals) {
    BoundBench bench;
    const RKey key = refusal.key(bench);
    const uint32_t bound = bench.region->windows;
    const uint32_t psn = expected_psn(*bench.qp).value();
    bench.receive(Operation::kSendOnlyInvalidate, psn, invalidate(key), counting(4));
    EXPECT_EQ(bench.sent(), Lines{}) << refusal.name;
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR) << refusal.name;
    const Statuses statuses = bench.receive_statuses();
    ASSERT_EQ(statuses.size(), 1U) << refusal.name;
    EXPECT_EQ(statuses[0].second, IBV_WC_MW_BIND_ERR) << refusal.name;
    EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{}) << refusal.name;
    EXPECT_EQ(bench.region->windows, bound) << refusal.name;
  }
}

}  // namespace
}  // namespace urxe::test::send_invalidate_test
