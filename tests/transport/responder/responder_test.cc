// SPDX-License-Identifier: BSD-2-Clause
// What the responder does with requests in order (IBTA vol. 1, 9.7.4, 9.7.5.1).
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <utility>

#include "tests/transport/bench.h"

namespace urxe::test::responder_test {
namespace {

Headers with_ack_req() {
  Headers headers;
  headers.bth.ack_req = true;
  return headers;
}

Headers atomic(uint64_t va, RKey rkey, uint64_t swap_or_add, uint64_t compare = 0) {
  Headers headers = with_ack_req();
  headers.atomic = {va, rkey, swap_or_add, compare};
  return headers;
}

// 9.7.4, 9.7.5.1.2. Expect: data in the receive, one ACK with the MSN counted, one completion.
TEST(Responder, SendOnly) {
  Bench bench;
  bench.post_receive(64);
  Headers headers = with_ack_req();
  headers.immediate_be = 0x11223344;
  bench.receive(Operation::kSendOnlyImm, kRqPsn, headers, {1, 2, 3});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV);
  EXPECT_EQ(wcs[0].byte_len, 3U);
  EXPECT_EQ(wcs[0].imm_data, 0x11223344U);
  EXPECT_EQ(wcs[0].wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(wcs[0].qp_num, Bench::kQpn);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + 2], 3);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + 3], 3);  // as it was
}

// Expect: without AckReq no answer.
TEST(Responder, NoAckWithoutAckReq) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, kRqPsn, {}, {1});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

TEST(Responder, SendOfThreePackets) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, {}, std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kSendMiddle, 201, {}, std::vector<uint8_t>(kMtu, 2));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  bench.receive(Operation::kSendLast, 202, with_ack_req(), {3});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 credits 0 msn 1"}));
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].byte_len, 2 * kMtu + 1);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 2);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + 2 * kMtu], 3);
}

// Expect: an ACK for an AckReq in the middle of a message does not count the message.
TEST(Responder, MsnCountsWholeMessages) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, with_ack_req(), std::vector<uint8_t>(kMtu));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 0"}));
  bench.receive(Operation::kSendLast, 201, with_ack_req(), {3});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 0 msn 1"}));
}

// 9.7.5.1.2. Expect: several requests before a transmission are answered by one ACK.
TEST(Responder, AcksAreCoalesced) {
  Bench bench;
  for (int i = 0; i < 3; ++i) bench.post_receive();
  for (uint32_t i = 0; i < 3; ++i) bench.receive(Operation::kSendOnly, 200 + i, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 credits 0 msn 3"}));
}

// Expect: kUrgentOnly keeps an ACK back, kAll sends it.
TEST(Responder, AckMayWait) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), Lines{});
  EXPECT_TRUE(bench.device.has_deferred_acks());
  EXPECT_EQ(bench.sent(AckPolicy::kAll), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_FALSE(bench.device.has_deferred_acks());
}

// Expect: kUrgentOnly sends an ACK along with requests of the same queue pair, and NAKs.
TEST(Responder, AckGoesWithRequests) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.post(IBV_WR_SEND, 8);
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly),
            (Lines{"SEND Only psn 100 ack len 8", "ACK psn 200 credits 0 msn 1"}));
  bench.receive(Operation::kSendOnly, 202, with_ack_req());
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly),
            (Lines{"ACK psn 201 nak \"psn sequence error\" msn 1"}));
}

// Expect: an ACK that may wait goes with the last packet of a reply that takes several turns, so
// that the peer has the whole reply when it sees the ACK.
TEST(Responder, AckGoesWithTheLastRequest) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.post(IBV_WR_RDMA_WRITE, 48 * kMtu);
  const Lines lines = bench.sent(AckPolicy::kUrgentOnly, 64);
  ASSERT_EQ(lines.size(), 49U);
  EXPECT_EQ(lines.back(), "ACK psn 200 credits 0 msn 1");
}

struct Reply {
  bool ack_is_first = false;
  size_t datagrams = 0;
};

/// A message has come, and the program replies.
Reply reply(ibv_wr_opcode opcode, uint32_t bytes, size_t segments = 64) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.post(opcode, bytes);
  const Lines lines = bench.sent(AckPolicy::kUrgentOnly, segments);
  const std::string ack = "ACK psn 200 credits 0 msn 1";
  EXPECT_TRUE(lines.front() == ack || lines.back() == ack);
  return {lines.front() == ack, bench.datagrams()};
}

// The defect: ib_send_lat -e expects the completion of its SEND before the reply. Expect: an ACK
// that cannot share the datagram of the reply's last packet goes first.
TEST(Responder, AckThatCannotShareTheReplysDatagramGoesFirst) {
  for (const uint32_t bytes : {1U, kMtu, 2 * kMtu, 20 * kMtu}) {
    const Reply shared = reply(IBV_WR_SEND, bytes);
    EXPECT_FALSE(shared.ack_is_first) << bytes;
    EXPECT_EQ(shared.datagrams, 1U) << bytes;
  }
  for (const uint32_t bytes : {kMtu + 1, 2 * kMtu + 100, 20 * kMtu - 4}) {
    const Reply apart = reply(IBV_WR_SEND, bytes);
    EXPECT_TRUE(apart.ack_is_first) << bytes;
    EXPECT_EQ(apart.datagrams, 2U) << bytes;
  }
  // The shorter of the two is the last one.
  EXPECT_TRUE(reply(IBV_WR_SEND, 0).ack_is_first);
  EXPECT_EQ(reply(IBV_WR_SEND, 0).datagrams, 1U);
  EXPECT_TRUE(reply(IBV_WR_SEND, 20 * kMtu, 20).ack_is_first);
  EXPECT_FALSE(reply(IBV_WR_SEND, 20 * kMtu, 19).ack_is_first);
  EXPECT_TRUE(reply(IBV_WR_SEND, 2 * kMtu, 1).ack_is_first);
  EXPECT_FALSE(reply(IBV_WR_SEND, kMtu, 1).ack_is_first);
}

// Expect: in a stream ACKs do not become more frequent: they wait for the last request.
TEST(Responder, AckInAStreamWaitsForTheLastRequest) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.post(IBV_WR_SEND, kMtu + 4);
  bench.post(IBV_WR_SEND, kMtu + 4);
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly, 64).back(), "ACK psn 200 credits 0 msn 1");
}

// The same as for SENDs. A WRITE's first packet is longer than the others, the last one with
// immediate data, too.
TEST(Responder, AckAndAReplyByWrite) {
  for (const uint32_t bytes : {1U, kMtu, 2 * kMtu + 1, 4 * kMtu, 20 * kMtu}) {
    const Reply shared = reply(IBV_WR_RDMA_WRITE, bytes);
    EXPECT_FALSE(shared.ack_is_first) << bytes;
    EXPECT_EQ(shared.datagrams, bytes <= kMtu ? 1U : 2U) << bytes;
  }
  for (const uint32_t bytes : {kMtu + 1, 2 * kMtu, 4 * kMtu - 4}) {
    EXPECT_TRUE(reply(IBV_WR_RDMA_WRITE, bytes).ack_is_first) << bytes;
  }
  EXPECT_TRUE(reply(IBV_WR_RDMA_WRITE, 20 * kMtu, 18).ack_is_first);
  EXPECT_FALSE(reply(IBV_WR_RDMA_WRITE, 20 * kMtu, 17).ack_is_first);
  EXPECT_FALSE(reply(IBV_WR_RDMA_WRITE_WITH_IMM, 4 * kMtu).ack_is_first);
  EXPECT_TRUE(reply(IBV_WR_RDMA_WRITE_WITH_IMM, 2 * kMtu).ack_is_first);
  EXPECT_FALSE(reply(IBV_WR_RDMA_READ, 4 * kMtu).ack_is_first);
}

/// The device receives so many packets of a SEND; the last of these has AckReq, and may end it.
/// What goes out although ACKs may wait.
Lines answers_to_send(uint32_t packets, bool ends) {
  Bench bench;
  bench.post_receive(Bench::kBytes - Bench::kReceiveOffset);
  for (uint32_t i = 0; i < packets; ++i) {
    const bool is_last = i + 1 == packets;
    const Operation operation = i == 0            ? Operation::kSendFirst
                                : is_last && ends ? Operation::kSendLast
                                                  : Operation::kSendMiddle;
    bench.receive(operation, kRqPsn + i, is_last ? with_ack_req() : Headers{},
                  std::vector<uint8_t>(kMtu));
  }
  return bench.sent(AckPolicy::kUrgentOnly);
}

// Expect: within a message an ACK goes out at once. At its end a reply may follow, for which it may
// wait, however long the message is.
TEST(Responder, AcksWithinALongMessageDoNotWait) {
  EXPECT_EQ(answers_to_send(2, false), (Lines{"ACK psn 201 credits 1 msn 0"}));
  EXPECT_EQ(answers_to_send(16, false), (Lines{"ACK psn 215 credits 1 msn 0"}));
  EXPECT_EQ(answers_to_send(16, true), Lines{});
  EXPECT_EQ(answers_to_send(32, true), Lines{});
}

/// The device receives messages of one packet, until an ACK goes out although it may wait.
Lines ack_for_many_messages(Bench& bench) {
  Lines sent;
  for (uint32_t i = 0; i < 100 && sent.empty(); ++i) {
    bench.post_receive();
    bench.receive(Operation::kSendOnly, kRqPsn + i, with_ack_req());
    sent = bench.sent(AckPolicy::kUrgentOnly);
  }
  return sent;
}

// Expect: the ACK for many messages does not wait.
TEST(Responder, AcksForManyMessagesDoNotWait) {
  Bench bench;
  EXPECT_EQ(ack_for_many_messages(bench), (Lines{"ACK psn 231 credits 0 msn 32"}));
}

// Expect: with little room, so that the peer's window is likely to be small, it does not wait for
// more than a quarter of the window, but for more than a message.
TEST(Responder, AcksGoOutEarlierInANarrowWindow) {
  Bench narrow;
  narrow.device.set_receive_buffer(size_t{5} * 10 * kMtu * 2);  // the window is 2/5 of it
  EXPECT_EQ(ack_for_many_messages(narrow), (Lines{"ACK psn 209 credits 0 msn 10"}));
  Bench memory;  // where there is room
  memory.device.set_receive_buffer(kMtu);
  memory.through_memory = true;
  EXPECT_EQ(ack_for_many_messages(memory), (Lines{"ACK psn 231 credits 0 msn 32"}));
  Bench least;
  least.device.set_receive_buffer(kMtu);
  EXPECT_EQ(ack_for_many_messages(least), (Lines{"ACK psn 203 credits 0 msn 4"}));
}

// Expect: an ACK that was to go out within a message waits if the message has ended meanwhile; it
// is not forgotten.
TEST(Responder, AckWithinAMessageBecomesOneForAllOfIt) {
  Bench bench;
  bench.post_receive(Bench::kBytes - Bench::kReceiveOffset);
  for (uint32_t i = 0; i < 20; ++i) {
    const Operation operation = i == 0    ? Operation::kSendFirst
                                : i == 19 ? Operation::kSendLast
                                          : Operation::kSendMiddle;
    bench.receive(operation, kRqPsn + i, with_ack_req(), std::vector<uint8_t>(kMtu));
  }
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), Lines{});
  EXPECT_TRUE(bench.device.has_deferred_acks());
  EXPECT_EQ(bench.sent(AckPolicy::kAll), (Lines{"ACK psn 219 credits 0 msn 1"}));
}

TEST(Responder, WriteOfThreePackets) {
  Bench bench;
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteFirst, 200, bench.reth(Bench::kTargetVa + 8, rkey, 2 * kMtu + 2),
                std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kWriteMiddle, 201, {}, std::vector<uint8_t>(kMtu, 2));
  bench.receive(Operation::kWriteLast, 202, with_ack_req(), {3, 4});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 credits 0 msn 1"}));
  EXPECT_EQ(bench.target[7], 0);
  EXPECT_EQ(bench.target[8], 1);
  EXPECT_EQ(bench.target[8 + kMtu], 2);
  EXPECT_EQ(bench.target[8 + 2 * kMtu + 1], 4);
  EXPECT_EQ(bench.target[8 + 2 * kMtu + 2], 0);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

// Expect: WRITE with immediate takes a receive and its completion has the WRITE's length.
TEST(Responder, WriteWithImmediate) {
  Bench bench;
  bench.post_receive(0);
  Headers headers = bench.reth(Bench::kTargetVa, bench.target_region->rkey, 3);
  headers.immediate_be = 9;
  bench.receive(Operation::kWriteOnlyImm, 200, headers, {1, 2, 3});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wcs[0].byte_len, 3U);
  EXPECT_EQ(wcs[0].imm_data, 9U);
  EXPECT_EQ(bench.target[2], 3);
}

// 9.7.7.2. Expect: a peer that was told of no receive hears of the next, once, whatever number of
// RNR retries this side has: the peer may have none.
TEST(Responder, AnnouncesReceivesToWhoWaits) {
  for (const uint8_t rnr_retry : std::initializer_list<uint8_t>{0, 7}) {
    BenchOptions options;
    options.connect.rnr_retry = rnr_retry;
    Bench bench(options);
    bench.post_receive();
    Headers asks;
    asks.bth.ack_req = true;
    bench.receive(Operation::kSendOnly, 200, asks, {1});
    EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
    EXPECT_TRUE(bench.qp->wants_receives.load());
    bench.device.ring_doorbell(*bench.qp);
    EXPECT_EQ(bench.sent(), Lines{});
    for (int i = 0; i < 2; ++i) {
      bench.post_receive();
      bench.device.ring_doorbell(*bench.qp);
      EXPECT_EQ(bench.sent(), i == 0 ? Lines{"ACK psn 200 credits 1 msn 1"} : Lines{});
    }
  }
}

// 9.7.4.1 Expect: nothing of a zero-length access is checked.
TEST(Responder, ZeroLengthNeedsNoKey) {
  Bench bench;
  bench.receive(Operation::kWriteOnly, 200, bench.reth(1, RKey{0xbad}, 0));
  bench.receive(Operation::kReadRequest, 201, bench.reth(1, RKey{0xbad}, 0));
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 201 credits 0 msn 2 len 0"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// 9.7.5.1 Expect: responses take the request's PSNs; AETH on the first and last only.
TEST(Responder, ReadsByLength) {
  const std::pair<uint32_t, Lines> cases[] = {
      {1, {"READ Response Only psn 200 credits 0 msn 1 len 1"}},
      {kMtu, {"READ Response Only psn 200 credits 0 msn 1 len 1024"}},
      {kMtu + 1,
       {"READ Response First psn 200 credits 0 msn 1 len 1024",
        "READ Response Last psn 201 credits 0 msn 1 len 1"}},
      {3 * kMtu,
       {"READ Response First psn 200 credits 0 msn 1 len 1024",
        "READ Response Middle psn 201 len 1024",
        "READ Response Last psn 202 credits 0 msn 1 len 1024"}},
  };
  for (const auto& [length, expected] : cases) {
    Bench bench;
    bench.target[2] = 0x5a;
    bench.receive(Operation::kReadRequest, 200,
                  bench.reth(Bench::kTargetVa + 2, bench.target_region->rkey, length));
    Lines lines = bench.sent();
    // Whether data responses carry credits is not the point here.
    for (std::string& text : lines) {
      const auto at = text.find(" msn");
      if (at != std::string::npos && text.find("credits") == std::string::npos) {
        text.insert(at, " credits 0");
      }
    }
    EXPECT_EQ(lines, expected) << length;
    EXPECT_EQ(bench.payloads()[0][0], 0x5a);
  }
}

// The application may write to the memory at any time. Expect: a response with an ICRC is a copy.
// Without one, the data may be read when the batch is sent; but not after that of a later READ.
TEST(Responder, ReadsDataNoLaterThanThatOfTheNextRead) {
  const auto read = [](Bench& bench, uint32_t psn, uint32_t length) {
    bench.receive(Operation::kReadRequest, psn,
                  bench.reth(Bench::kTargetVa, bench.target_region->rkey, length));
  };
  TxBatch::Limits unsealed;
  unsealed.seals = false;
  {
    Bench bench;
    read(bench, 200, 2 * kMtu);
    EXPECT_EQ(bench.places_of_payloads(), Lines(2, "in the batch"));
  }
  Bench bench;
  read(bench, 200, 2 * kMtu);
  read(bench, 202, kMtu);
  EXPECT_EQ(bench.places_of_payloads(unsealed), Lines(3, "elsewhere"));
  read(bench, 203, kMtu);
  read(bench, 204, 8);
  read(bench, 205, kMtu);
  EXPECT_EQ(bench.places_of_payloads(unsealed),
            (Lines{"in the batch", "in the batch", "elsewhere"}));
}

// Expect: the request after a READ continues after the READ's last response.
TEST(Responder, ExpectedPsnAfterRead) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kReadRequest, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 2 * kMtu));
  bench.receive(Operation::kSendOnly, 202, with_ack_req());
  const Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2], "ACK psn 202 credits 0 msn 2");
}

TEST(Responder, Atomics) {
  Bench bench;
  const uint64_t before = 41;
  std::memcpy(bench.target, &before, 8);
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kFetchAdd, 200, atomic(Bench::kTargetVa, rkey, 1));
  bench.receive(Operation::kCompareSwap, 201, atomic(Bench::kTargetVa, rkey, 7, 42));
  bench.receive(Operation::kCompareSwap, 202, atomic(Bench::kTargetVa, rkey, 9, 42));
  Lines lines = bench.sent();
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[0].find("ATOMIC ACK psn 200"), std::string::npos);
  EXPECT_NE(lines[0].find("original 0x29"), std::string::npos);
  EXPECT_NE(lines[1].find("original 0x2a"), std::string::npos);
  EXPECT_NE(lines[2].find("original 0x7"), std::string::npos);
  uint64_t after = 0;
  std::memcpy(&after, bench.target, 8);
  EXPECT_EQ(after, 7U);
}

// 9.7.5.2 Expect: one NAK for a gap, with the PSN that is expected, then silence until it comes.
TEST(Responder, OneSequenceNakAGap) {
  Bench bench;
  for (int i = 0; i < 4; ++i) bench.post_receive();
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  bench.receive(Operation::kSendOnly, 202, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 nak \"psn sequence error\" msn 0"}));
  bench.receive(Operation::kSendOnly, 203, with_ack_req());
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 3U);
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 3 msn 1"}));
  // Expect: the next gap has a NAK of its own.
  bench.receive(Operation::kSendOnly, 202, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 nak \"psn sequence error\" msn 1"}));
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

// Expect: no NAK goes out if the missing packet has come before that.
TEST(Responder, AGapThatIsClosedIsNotTold) {
  Bench bench;
  for (int i = 0; i < 2; ++i) bench.post_receive();
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  bench.receive(Operation::kSendOnly, 200);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 0 msn 2"}));
}

// 9.7.5.1.4: its response acknowledges a READ. Expect: no ACK besides, though it asks for one.
TEST(Responder, AReadIsNotAcknowledgedTwice) {
  Bench bench;
  Headers read = bench.reth(Bench::kTargetVa, bench.target_region->rkey, 8);
  read.bth.ack_req = true;
  bench.receive(Operation::kReadRequest, 200, read);
  EXPECT_EQ(bench.sent(), (Lines{"READ Response Only psn 200 credits 0 msn 1 len 8"}));
}

// 9.7.5.2.8. Expect: no receive: RNR NAK with the queue pair's timer, the rest is dropped silently.
TEST(Responder, RnrNak) {
  Bench bench;
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 rnr_nak 640us msn 0"}));
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  EXPECT_EQ(bench.sent(), Lines{});
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: a WRITE with immediate whose end finds no receive is RNR NAKed at its last packet.
TEST(Responder, RnrNakAtTheEndOfAWrite) {
  Bench bench;
  bench.receive(Operation::kWriteFirst, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, kMtu + 1),
                std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kWriteLastImm, 201, with_ack_req(), {2});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 rnr_nak 640us msn 0"}));
  bench.post_receive();
  bench.receive(Operation::kWriteLastImm, 201, with_ack_req(), {2});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 0 msn 1"}));
  EXPECT_EQ(bench.target[kMtu], 2);
}

// 9.7.2. Expect: the PSN wraps.
TEST(Responder, PsnWraps) {
  BenchOptions options;
  options.connect.rq_psn = 0xffffff;
  Bench bench(options);
  bench.post_receive();
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 0xffffff, with_ack_req());
  bench.receive(Operation::kSendOnly, 0, with_ack_req());
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 0 credits 0 msn 2"}));
}

// 11.6.3. Expect: COMM_EST for the first packet in RTR, once; a response there is not taken.
TEST(Responder, CommunicationEstablished) {
  BenchOptions options;
  options.state = IBV_QPS_RTR;
  Bench bench(options);
  bench.post_receive();
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, with_ack_req());
  bench.receive(Operation::kSendOnly, 201, with_ack_req());
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_COMM_EST}));
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 0 msn 2"}));
  bench.receive_ack(100);
  EXPECT_EQ(bench.dropped(DropReason::kQpState), 1U);
}

// 11.4.2.2. Expect: a queue armed for solicited completions waits for one.
TEST(Responder, SolicitedNotification) {
  Bench bench;
  bench.post_receive();
  bench.post_receive();
  bench.recv_cq->arm(true);
  bench.receive(Operation::kSendOnly, 200);
  EXPECT_EQ(bench.device.take_notified(), nullptr);
  Headers solicited;
  solicited.bth.solicited = true;
  bench.receive(Operation::kSendOnly, 201, solicited);
  EXPECT_EQ(bench.device.take_notified(), bench.recv_cq);
}

}  // namespace
}  // namespace urxe::test::responder_test
