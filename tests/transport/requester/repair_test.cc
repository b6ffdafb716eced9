// SPDX-License-Identifier: BSD-2-Clause
// Only what is missing is sent again to a peer that keeps what comes behind a gap.
#include <gtest/gtest.h>

#include "packet/base/bytes.h"
#include "tests/transport/bench.h"

namespace urxe::test::repair_test {
namespace {

constexpr NakCode kGap = NakCode::kPsnSequenceError;

/// The PSNs of the requests that were sent, and "query 1" for a query.
Lines psns(const Lines& lines) {
  Lines found;
  for (const std::string& line : lines) {
    const size_t at = line.find("psn ") + 4;
    const std::string psn = line.substr(at, line.find(' ', at) - at);
    found.push_back(line.find("Query") != std::string::npos ? "query " + psn : psn);
  }
  return found;
}

void post_sends(Bench& bench, int sends) {
  for (int i = 0; i < sends; ++i) bench.post(IBV_WR_SEND, 0);
}

BenchOptions patient() {
  BenchOptions options;
  options.connect.timeout = 14;
  return options;
}

/// A requester whose peer has shown that it keeps what comes behind a gap, with SENDs in flight
/// from PSN 100 on.
struct Keeping : Bench {
  explicit Keeping(int sends) : Bench(patient()) {
    qp->path->set_keeps_what_follows(true);
    post_sends(*this, sends);
    sent();
  }
  Lines sent_psns() { return psns(sent()); }
  /// The peer reports that packets are missing, and has seen this query.
  void receive_report(uint32_t from, uint32_t packets, uint32_t query,
                      size_t length = kGapReportBytes) {
    Headers headers;
    headers.bth.opcode = kGapReportOpcode;
    headers.bth.dest_qp = Qpn(kQpn);
    headers.bth.psn = Psn(from);
    std::vector<uint8_t> payload(kGapReportBytes);
    store_be32(payload.data(), packets);
    store_be32(&payload[4], query);
    payload.resize(length);
    receive_raw(headers, flow_from_peer(), payload);
  }
};

// Expect: a peer that nothing is known of gets everything again. If it then acknowledges what was
// not sent again, it has perhaps kept it, and is asked. If it answers, it gets from then on only
// what is missing.
TEST(Repair, PeerShowsThatItKeepsRequests) {
  Keeping bench(0);
  bench.qp->path->set_keeps_what_follows(false);
  post_sends(bench, 4);
  bench.sent();
  bench.receive_nak(100, kGap);
  EXPECT_FALSE(bench.qp->path->keeps_what_follows());
  TxBatch batch(TxBatch::Limits{.packets = 1});
  EXPECT_TRUE(bench.device.transmit(batch, bench.now, AckPolicy::kAll));
  bench.receive_ack(103);
  EXPECT_EQ(bench.sent_psns(), (Lines{"query 1"}));
  EXPECT_FALSE(bench.qp->path->keeps_what_follows());
  bench.receive_report(104, 0, 1);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_TRUE(bench.qp->path->keeps_what_follows());
}

// The defect: a NAK for a packet that was only late, then its ACK, seemed to show that the peer
// keeps requests; soft-RoCE then had to send a NAK for each one. Expect: a peer that does not
// answer is asked eight times at most, and gets everything again after each NAK.
TEST(Repair, ALatePacketShowsNothing) {
  Keeping bench(0);
  bench.qp->path->set_keeps_what_follows(false);
  uint32_t queries = 0;
  for (uint32_t psn = 100; psn < 140; psn += 2) {
    post_sends(bench, 2);
    bench.sent();
    bench.receive_nak(psn, kGap);
    bench.receive_ack(psn);
    const Lines lines = bench.sent_psns();
    const bool asks = lines.front().starts_with("query");
    queries += asks ? 1 : 0;
    EXPECT_EQ(lines.back(), std::to_string(psn + 1));
    EXPECT_EQ(lines.size(), asks ? 2U : 1U);
    bench.receive_ack(psn + 1);
    EXPECT_FALSE(bench.qp->path->keeps_what_follows());
  }
  EXPECT_EQ(queries, 8U);
}

// Expect: the same after a timeout shows nothing, since the answers may only have been late.
TEST(Repair, LateAnswersShowNothing) {
  Bench bench;
  post_sends(bench, 4);
  bench.sent();
  bench.receive_nak(100, kGap);
  EXPECT_EQ(bench.sent().size(), 4U);
  bench.receive_ack(103);
  EXPECT_FALSE(bench.qp->path->keeps_what_follows());
}

// Expect: the missing packet with AckReq, a query behind it, and nothing else again; what is posted
// meanwhile goes out. A second NAK for the same packet changes nothing.
TEST(Repair, OnlyTheMissingPacketIsSentAgain) {
  Keeping bench(4);
  bench.receive_nak(101, kGap);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0", "GAP Query psn 1"}));
  bench.receive_nak(101, kGap);
  post_sends(bench, 1);
  EXPECT_EQ(bench.sent_psns(), (Lines{"104"}));
  bench.receive_ack(104);
  EXPECT_EQ(bench.send_statuses().size(), 5U);
  EXPECT_EQ(bench.device.counters().retransmitted_packets, 1U);
  EXPECT_EQ(bench.device.counters().repairs, 1U);
}

// Expect: what is reported is sent again, once, unless the peer had seen the query behind it.
TEST(Repair, ReportedGapsAreRepaired) {
  Keeping bench(10);
  bench.receive_nak(100, kGap);
  EXPECT_EQ(bench.sent_psns(), (Lines{"100", "query 1"}));
  bench.receive_report(103, 2, 0);
  bench.receive_report(107, 1, 0);
  EXPECT_EQ(bench.sent_psns(), (Lines{"103", "104", "107", "query 2"}));
  bench.receive_report(103, 2, 1);
  EXPECT_EQ(bench.sent_psns(), Lines{});
  bench.receive_report(103, 2, 2);
  EXPECT_EQ(bench.sent_psns(), (Lines{"103", "104", "query 3"}));
  bench.receive_ack(109);
  EXPECT_EQ(bench.send_statuses().size(), 10U);
}

// The defect: the last packets of a burst were lost, and were repaired one by one, each after a
// silence. Expect: the report that answers the query behind the first repair says that the peer has
// seen nothing behind it, so all others that were sent before are repaired at once.
TEST(Repair, ReportShowsThatTheRestIsLost) {
  Keeping bench(6);
  bench.receive_ack(101);
  bench.now = bench.device.next_deadline().value();
  EXPECT_EQ(bench.sent_psns(), (Lines{"102", "query 1"}));
  post_sends(bench, 1);
  EXPECT_EQ(bench.sent_psns(), (Lines{"106"}));
  bench.receive_ack(102);
  bench.receive_report(103, 0, 0);
  EXPECT_EQ(bench.sent_psns(), Lines{});
  bench.receive_report(103, 0, 1);
  EXPECT_EQ(bench.sent_psns(), (Lines{"103", "104", "105", "query 2"}));
  bench.receive_report(106, 0, 2);
  EXPECT_EQ(bench.sent_psns(), (Lines{"106", "query 3"}));
  bench.receive_ack(106);
  EXPECT_EQ(bench.send_statuses().size(), 7U);
}

// Expect: a peer that reports the same gap again and again does not get it for ever.
TEST(Repair, AGapIsNotRepairedForEver) {
  Keeping bench(4);
  bench.receive_nak(101, kGap);
  EXPECT_EQ(bench.sent_psns(), (Lines{"101", "query 1"}));
  uint32_t repairs = 0;
  for (uint32_t query = 1; query < 100; ++query) {
    bench.receive_report(101, 1, query);
    const Lines lines = bench.sent_psns();
    if (lines.empty()) break;
    EXPECT_EQ(lines[0], "101");
    ++repairs;
  }
  EXPECT_EQ(repairs, 16U);
}

// Expect: reports of what is not in flight, or of more than that, are ignored.
TEST(Repair, NonsenseIsIgnored) {
  Keeping bench(4);
  bench.receive_report(104, 1, 0);
  bench.receive_report(102, 3, 0);
  bench.receive_report(99, 1, 0);
  bench.receive_report(100, 0, 0);
  bench.receive_report(100, UINT32_MAX, 0);
  for (const size_t length : {size_t{4}, kGapReportBytes - 4, kGapReportBytes + 4}) {
    bench.receive_report(100, 1, 0, length);
  }
  EXPECT_EQ(bench.sent_psns(), Lines{});
}

// Expect: a peer that reports nothing, and misses one packet after the other, gets ever more of
// them; and everything, when it cannot have kept them.
TEST(Repair, PeerThatDoesNotKeepRequestsGetsThemAll) {
  Keeping bench(60);
  bench.receive_nak(100, kGap);
  EXPECT_EQ(bench.sent_psns(), (Lines{"100", "query 1"}));
  uint32_t next = 101;
  for (const uint32_t span : {2U, 4U, 8U, 16U}) {
    bench.pass(seconds(1));
    bench.receive_nak(next, kGap);
    const Lines found = bench.sent_psns();
    ASSERT_EQ(found.size(), span + 1);
    EXPECT_EQ(found[0], std::to_string(next));
    next += span;
    EXPECT_EQ(found[span - 1], std::to_string(next - 1));
  }
  bench.receive_nak(next, kGap);
  EXPECT_EQ(bench.sent_psns().size(), 160 - next);
  EXPECT_FALSE(bench.qp->path->keeps_what_follows());
}

// Expect: if nothing is heard, the oldest packet goes again, some times, before the timers of the
// specification; it costs no retry.
TEST(Repair, SilenceRepeatsTheOldest) {
  Keeping bench(4);
  for (int i = 0; i < 4; ++i) {
    bench.now = bench.device.next_deadline().value();
    EXPECT_EQ(bench.sent_psns()[0], "100") << i;
  }
  EXPECT_EQ(bench.device.counters().ack_timeouts, 0U);
  bench.receive_ack(103);
  EXPECT_EQ(bench.send_statuses().size(), 4U);
  bench.pass(seconds(10));
  EXPECT_EQ(bench.sent_psns(), Lines{});
}

// Expect: a READ request is sent again as it was, and counts as all its PSNs.
TEST(Repair, ReadRequest) {
  Keeping bench(1);
  bench.post(IBV_WR_RDMA_READ, 3 * kMtu);
  bench.post(IBV_WR_SEND, 0);
  const Lines first = bench.sent();
  bench.receive_nak(101, kGap);
  const Lines again = bench.sent();
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0], first[0]);
  EXPECT_EQ(again[1], "GAP Query psn 1");
}

// Expect: single losses do not slow the path, many do.
TEST(Repair, OnlyManyLossesAreCongestion) {
  Path path(1024 * 1024);
  const uint32_t window = path.window();
  const uint32_t room = receive_room(1024, true);
  Instant now{1000000000};
  for (int i = 0; i < 1000; ++i) {
    now = now + milliseconds(1);
    for (int packet = 0; packet < 100; ++packet) path.on_acknowledged(room);
    EXPECT_FALSE(path.on_single_loss(1024, now));
  }
  EXPECT_GE(path.window(), window);
  bool slowed = false;
  for (int i = 0; i < 20; ++i) slowed = path.on_single_loss(1024, now) || slowed;
  EXPECT_TRUE(slowed);
}

}  // namespace
}  // namespace urxe::test::repair_test
