// SPDX-License-Identifier: BSD-2-Clause
// Requests that come behind a gap are kept, and executed once the missing one has come.
#include <gtest/gtest.h>

#include <algorithm>

#include "packet/base/bytes.h"
#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

BenchOptions keeping() {
  BenchOptions options;
  options.keeps_requests = true;
  return options;
}

Headers with_ack_req() {
  Headers headers;
  headers.bth.ack_req = true;
  return headers;
}

/// A SEND of four bytes that tell its PSN.
void receive_send(Bench& bench, uint32_t psn) {
  std::vector<uint8_t> payload(4);
  store_be32(payload.data(), psn);
  bench.receive(Operation::kSendOnly, psn, with_ack_req(), payload);
}

void receive_query(Bench& bench, uint32_t number) {
  Headers headers;
  headers.bth.opcode = kGapQueryOpcode;
  headers.bth.dest_qp = Qpn(Bench::kQpn);
  headers.bth.psn = Psn(number);
  bench.receive_raw(headers, bench.flow_from_peer(), {});
}

/// What the last packets sent report: "from+packets@query".
Lines reports(Bench& bench) {
  Lines found;
  const Lines lines = bench.sent();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("Report") == std::string::npos) continue;
    const auto& payload = bench.payloads()[i];
    EXPECT_EQ(payload.size(), kGapReportBytes);
    const std::string from = lines[i].substr(lines[i].find("psn ") + 4, 3);
    found.push_back(from + line("+%u@%u", load_be32(payload.data()), load_be32(&payload[4])));
  }
  return found;
}

// Expect: one NAK for the gap. The missing packet comes, and an ACK for all at once; the receives
// complete in order, with the data of the right packets.
TEST(HeldRequests, AreExecutedInOrder) {
  Bench bench(keeping());
  for (int i = 0; i < 4; ++i) bench.post_receive();
  for (const uint32_t psn : {202U, 201U, 203U}) receive_send(bench, psn);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 nak \"psn sequence error\" msn 0"}));
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  receive_send(bench, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 203 credits 0 msn 4"}));
  EXPECT_EQ(
      bench.receive_statuses(),
      (Statuses{
          {1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}, {4, IBV_WC_SUCCESS}}));
  EXPECT_EQ(load_be32(&bench.memory[Bench::kReceiveOffset]), 203U);  // the last one's
  EXPECT_EQ(bench.device.counters().held_requests, 3U);
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 0U);
}

// Expect: a further gap has a NAK of its own, once the first is closed; what is kept twice counts
// once.
TEST(HeldRequests, NextGapIsNamed) {
  Bench bench(keeping());
  for (int i = 0; i < 4; ++i) bench.post_receive();
  for (const uint32_t psn : {201U, 203U, 203U}) receive_send(bench, psn);
  EXPECT_EQ(bench.sent().size(), 1U);
  receive_send(bench, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 202 nak \"psn sequence error\" msn 2"}));
  receive_send(bench, 202);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 203 credits 0 msn 4"}));
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 1U);
}

// Expect: the requester that goes back sends what was kept again: duplicates, acknowledged.
TEST(HeldRequests, GoingBackSeesDuplicates) {
  Bench bench(keeping());
  for (int i = 0; i < 2; ++i) bench.post_receive();
  receive_send(bench, 201);
  bench.sent();
  receive_send(bench, 200);
  receive_send(bench, 201);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 credits 0 msn 2"}));
  EXPECT_EQ(bench.receive_statuses().size(), 2U);
  EXPECT_EQ(bench.device.counters().duplicate_requests, 1U);
}

// The NAK was lost. Expect: the requester that sends its newest packet again, and asks, is told
// again; for others that come again, once is enough.
TEST(HeldRequests, NewestPacketAsksAgain) {
  Bench bench(keeping());
  for (int i = 0; i < 3; ++i) bench.post_receive();
  const Lines nak = {"ACK psn 200 nak \"psn sequence error\" msn 0"};
  receive_send(bench, 201);
  receive_send(bench, 202);
  EXPECT_EQ(bench.sent(), nak);
  receive_send(bench, 201);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive(Operation::kSendOnly, 202, {}, std::vector<uint8_t>(4));  // does not ask
  EXPECT_EQ(bench.sent(), Lines{});
  receive_send(bench, 202);
  EXPECT_EQ(bench.sent(), nak);
}

// 9.7.5.2.8. Expect: after an RNR NAK everything comes again, and nothing is kept meanwhile.
TEST(HeldRequests, AreForgottenWithoutReceive) {
  Bench bench(keeping());
  receive_send(bench, 201);
  bench.sent();
  receive_send(bench, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 rnr_nak 640us msn 0"}));
  receive_send(bench, 202);
  for (int i = 0; i < 2; ++i) bench.post_receive();
  receive_send(bench, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 1 msn 1"}));
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 1U);
}

// Expect: a request that ends the connection ends it also if it was kept.
TEST(HeldRequests, MayBeBad) {
  Bench bench(keeping());
  for (int i = 0; i < 2; ++i) bench.post_receive();
  bench.receive(Operation::kSendMiddle, 201);
  receive_send(bench, 202);
  bench.sent();
  receive_send(bench, 200);
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 201 nak \"invalid request\" msn 1"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: a bound per queue pair; what is beyond it, or far ahead, is dropped and comes again.
TEST(HeldRequests, AreBounded) {
  Bench bench(keeping());
  bench.receive(Operation::kSendOnly, 200 + HeldRequests::kFurthest + 1);
  EXPECT_EQ(bench.device.counters().held_requests, 0U);
  for (uint32_t i = 0; i < 600; ++i) bench.receive(Operation::kSendOnly, 201 + i);
  EXPECT_EQ(bench.device.counters().held_requests, HeldRequests::kMostOfOne);
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 89U);
}

// Expect: RESET gives back what was kept: a queue pair can have its share as often as it likes.
TEST(HeldRequests, ResetGivesThemBack) {
  const BenchOptions options = keeping();
  Bench bench(options);
  for (uint64_t round = 1; round <= 3; ++round) {
    for (uint32_t i = 0; i < HeldRequests::kMostOfOne; ++i) {
      bench.receive(Operation::kSendOnly, 201 + i);
    }
    EXPECT_EQ(bench.device.counters().held_requests, round * HeldRequests::kMostOfOne);
    bench.sent();
    ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
    sim::ConnectOptions again = options.connect;
    again.destination = bench.flow_from_peer().source;
    again.dest_qpn = Qpn{Bench::kPeerQpn};
    ASSERT_TRUE(sim::connect(bench.device, *bench.qp, again, bench.now));
  }
}

// Expect: without a query nothing but NAKs. A query draws a report of each gap, new gaps are
// reported at once; the reports say which query was the last before them.
TEST(HeldRequests, GapsAreReportedIfAskedFor) {
  Bench bench(keeping());
  for (int i = 0; i < 16; ++i) bench.post_receive();
  for (const uint32_t psn : {201U, 203U, 206U}) receive_send(bench, psn);
  EXPECT_EQ(reports(bench), Lines{});
  receive_query(bench, 7);
  Lines found = reports(bench);
  std::ranges::sort(found);
  EXPECT_EQ(found, (Lines{"200+1@7", "202+1@7", "204+2@7"}));
  receive_send(bench, 208);
  EXPECT_EQ(reports(bench), (Lines{"207+1@7"}));
  receive_send(bench, 209);
  receive_send(bench, 207);
  EXPECT_EQ(reports(bench), Lines{});
  receive_send(bench, 200);
  receive_query(bench, 8);
  found = reports(bench);
  std::ranges::sort(found);
  EXPECT_EQ(found, (Lines{"202+1@8", "204+2@8"}));
}

// Expect: a query is answered if nothing is missing, too, but not by a responder that drops what
// comes behind a gap.
TEST(HeldRequests, NoGapIsReportedAsSuch) {
  Bench bench(keeping());
  receive_query(bench, 1);
  EXPECT_EQ(reports(bench), (Lines{"200+0@1"}));
  Bench other;
  receive_query(other, 1);
  EXPECT_EQ(reports(other), Lines{});
}

// Expect: a query of somebody else's is not answered.
TEST(HeldRequests, StrangersAreNotTold) {
  Bench bench(keeping());
  receive_send(bench, 201);
  bench.sent();
  Headers headers;
  headers.bth.opcode = kGapQueryOpcode;
  headers.bth.dest_qp = Qpn(Bench::kQpn);
  Flow flow = bench.flow_from_peer();
  flow.source.bytes[15] ^= 1;
  bench.receive_raw(headers, flow, {});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 1U);
}

QpInit init_of(uint32_t qpn) {
  QpInit init;
  init.qpn = Qpn(qpn);
  init.cap = {1, 1, 1, 1, 0};
  return init;
}

/// Keeps SENDs of the queue pair, from this PSN on. Returns how many were kept.
uint32_t keep(HeldRequests& held, QueuePair& qp, uint32_t first, uint32_t packets) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < packets; ++i) {
    PacketView packet;
    packet.headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
    packet.headers.bth.psn = Psn(first + i);
    kept += held.keep(qp, packet, static_cast<int32_t>(1 + i)) == HeldRequests::Kept::kNow ? 1 : 0;
  }
  return kept;
}

// Expect: if all room is used, the queue pair with the oldest gap loses what is kept for it.
TEST(HeldRequests, OldestGapMakesRoom) {
  QueuePair a(init_of(0x11));
  QueuePair b(init_of(0x12));
  QueuePair c(init_of(0x13));
  HeldRequests held;
  EXPECT_EQ(keep(held, a, 0xfffffe, 1000), HeldRequests::kMostOfOne);  // PSNs wrap
  EXPECT_EQ(keep(held, b, 50, 1000), HeldRequests::kMostOfOne);
  EXPECT_EQ(held.size(), HeldRequests::kCapacity);
  EXPECT_EQ(keep(held, c, 70, 10), 10U);
  EXPECT_EQ(a.responder.held.count, 0U);
  EXPECT_EQ(held.size(), HeldRequests::kMostOfOne + 10U);
  EXPECT_TRUE(held.first_at(b, Psn(52)));
  EXPECT_EQ(b.responder.held.count, HeldRequests::kMostOfOne - 2);
  held.forget_all(b);
  EXPECT_FALSE(held.first_at(b, Psn(53)));
  held.forget_all(c);
  EXPECT_EQ(held.size(), 0U);
}

// Expect: whose gap is the oldest keeps what it has, and gets no more.
TEST(HeldRequests, OwnGapMakesNoRoom) {
  QueuePair a(init_of(0x11));
  QueuePair b(init_of(0x12));
  QueuePair c(init_of(0x13));
  HeldRequests held;
  EXPECT_EQ(keep(held, a, 50, 10), 10U);
  EXPECT_EQ(keep(held, b, 50, 1000), HeldRequests::kMostOfOne);
  constexpr uint32_t kRest = HeldRequests::kCapacity - HeldRequests::kMostOfOne - 10;
  EXPECT_EQ(keep(held, c, 50, kRest), kRest);
  EXPECT_EQ(keep(held, a, 90, 10), 0U);
  EXPECT_EQ(a.responder.held.count, 10U);
  EXPECT_EQ(held.size(), HeldRequests::kCapacity);
  for (QueuePair* qp : {&a, &b, &c}) held.forget_all(*qp);
}

}  // namespace
}  // namespace urxe::test
