// SPDX-License-Identifier: BSD-2-Clause
// What keeps UC and UD from overflowing the receive buffer of a process of this host.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/transport/bench.h"

namespace urxe::test::backpressure_test {
namespace {

constexpr uint32_t kBytes = 4096;
/// Of 64 KiB half may be in flight: three datagrams of 4 KiB, counted twofold, and the one with
/// which it is reached.
constexpr size_t kReceiveBuffer = 64 * 1024;
constexpr size_t kBurst = 4;

class BackpressureTest : public testing::Test {
 protected:
  BackpressureTest() : bench(options()) { bench.device.set_receive_buffer(kReceiveBuffer); }

  static BenchOptions options() {
    BenchOptions options;
    options.type = IBV_QPT_UD;
    return options;
  }
  [[nodiscard]] Gid own() const { return bench.flow_from_peer().destination; }

  void post(const Gid& destination, int count) {
    for (int i = 0; i < count; ++i) {
      sim::SendRequest request;
      request.sges = {bench.local(kBytes)};
      request.datagram = {{own(), destination}, Qpn{Bench::kPeerQpn}, QKey{1}};
      bench.post(request);
    }
  }
  /// Datagrams and queries that go out now.
  std::pair<size_t, size_t> sent() {
    const Lines lines = bench.sent();
    size_t queries = 0;
    for (const Headers& headers : bench.headers()) {
      if (headers.bth.opcode != kDrainQueryOpcode) continue;
      ++queries;
      proofs_[headers.bth.psn.value()] = headers.deth.qkey;
    }
    return {lines.size() - queries, queries};
  }
  /// What an answer with that mark must repeat.
  [[nodiscard]] QKey proof(uint32_t mark) const {
    const auto found = proofs_.find(mark);
    return found == proofs_.end() ? QKey{0} : found->second;
  }
  /// The answer to the query of the last sent() that ends the batch.
  void answer(uint32_t mark) { answer_from({own(), own(), kRoceUdpPort}, mark, proof(mark)); }
  void answer_from(const Flow& flow, uint32_t mark, QKey repeated) {
    Headers headers;
    headers.bth.opcode = kDrainAnswerOpcode;
    headers.bth.dest_qp = Qpn{Bench::kQpn};
    headers.bth.psn = Psn{mark};
    headers.deth = {repeated, Qpn{Bench::kPeerQpn}};
    bench.receive_raw(headers, flow, {});
  }
  /// Units of 256 bytes that a datagram counts for, with its headers.
  static constexpr uint32_t kUnits = (2 * (kBytes + 24) + 768) / 256;

  Bench bench;

 private:
  std::map<uint32_t, QKey> proofs_;  ///< of queries, by their marks
};

// Expect: a burst, with queries in it, and no more until the last one is answered.
TEST_F(BackpressureTest, WaitsForTheReceiver) {
  post(own(), 10);
  EXPECT_EQ(sent(), std::pair(kBurst, size_t{2}));
  EXPECT_EQ(sent(), std::pair(size_t{0}, size_t{0}));
  EXPECT_EQ(bench.device.report(0).value().waits_for, WaitReason::kWindow);
  EXPECT_EQ(bench.send_statuses().size(), kBurst);
  answer(kBurst * kUnits);
  EXPECT_EQ(sent(), std::pair(kBurst, size_t{2}));
  answer(2 * kBurst * kUnits);
  EXPECT_EQ(sent().first, 2U);
  EXPECT_EQ(bench.send_statuses().size(), 10 - kBurst);
  EXPECT_EQ(bench.device.report(0).value().waits_for, WaitReason::kNothing);
}

// Expect: an answer to an earlier query lets through what had been taken by then.
TEST_F(BackpressureTest, PartOfIt) {
  post(own(), 10);
  sent();
  answer(2 * kUnits);
  EXPECT_EQ(sent().first, 2U);
}

// Expect: neither restraint nor queries on the way to other hosts.
TEST_F(BackpressureTest, OtherHostsAreLeftAlone) {
  post(bench.flow_from_peer().source, 20);
  EXPECT_EQ(sent(), std::pair(size_t{20}, size_t{0}));
}

// Expect: answers that name what was never sent, or what has long been confirmed, change nothing.
TEST_F(BackpressureTest, StrangeAnswers) {
  post(own(), 10);
  sent();
  answer(kBurst * kUnits + 1);
  answer(0x800000);
  EXPECT_EQ(sent().first, 0U);
  answer(kBurst * kUnits);
  EXPECT_EQ(sent().first, kBurst);
  answer(2 * kUnits);
  EXPECT_EQ(sent().first, 0U);
}

// Expect: an answer from another host is dropped.
TEST_F(BackpressureTest, AnswersFromElsewhere) {
  post(own(), 10);
  sent();
  answer_from(bench.flow_from_peer(), kBurst * kUnits, proof(kBurst * kUnits));
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 1U);
  EXPECT_EQ(sent().first, 0U);
}

// Expect: asked again every 10 ms, a receiver that never answers is then sent to without restraint;
// once it answers it is waited for again.
TEST_F(BackpressureTest, SilentReceiver) {
  post(own(), 20);
  sent();
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(bench.device.next_deadline());
    bench.pass(milliseconds(10));
    EXPECT_EQ(sent(), std::pair(size_t{0}, size_t{1})) << i;
  }
  bench.pass(milliseconds(10));
  EXPECT_EQ(sent().first, 20 - kBurst);
  answer(20 * kUnits);
  post(own(), 10);
  EXPECT_EQ(sent().first, kBurst);
}

// Expect: a queue pair that is reset while it waits is forgotten.
TEST_F(BackpressureTest, ResetWhileWaiting) {
  post(own(), 10);
  sent();
  EXPECT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  answer(kBurst * kUnits);
  bench.pass(milliseconds(10));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.device.destroy_qp(bench.qp);
}

// Expect: queries leave by the port that this user's processes receive on.
TEST_F(BackpressureTest, QueriesComeFromTheReceivingPort) {
  post(own(), 10);
  TxBatch batch(TxBatch::Limits{});
  bench.device.transmit(batch, bench.now, AckPolicy::kAll);
  size_t queries = 0;
  for (const TxBatch::Message& message : batch.messages()) {
    const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
    ASSERT_TRUE(view);
    const bool is_query = view->headers.bth.opcode == kDrainQueryOpcode;
    EXPECT_EQ(message.flow.source_port == kRoceUdpPort, is_query);
    if (is_query) ++queries;
  }
  EXPECT_EQ(queries, 2U);
}

// Expect: an answer from a port that other users can have lets nothing through.
TEST_F(BackpressureTest, ForgedAnswer) {
  post(own(), 10);
  sent();
  answer_from({own(), own(), 0xc123}, kBurst * kUnits, proof(kBurst * kUnits));
  EXPECT_EQ(sent().first, 0U);
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 1U);
}

// The defect: another user of the host sent with the peer's address and port 4791 (IP_PKTINFO).
// Expect: without the secret number of the query an answer lets nothing through.
TEST_F(BackpressureTest, AnswerOfAStranger) {
  post(own(), 10);
  sent();
  const QKey right = proof(kBurst * kUnits);
  for (const uint32_t flipped : {1U, 0x80000000U, right.value()}) {
    answer_from({own(), own(), kRoceUdpPort}, kBurst * kUnits, QKey{right.value() ^ flipped});
  }
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 3U);
  EXPECT_EQ(sent().first, 0U);
  answer(kBurst * kUnits);
  EXPECT_EQ(sent().first, kBurst);
}

// Expect: an answer from another address of this host, whose port 4791 another user may have, lets
// nothing through.
TEST_F(BackpressureTest, AnswerFromAnAddressThatWasNotAsked) {
  Gid other = own();
  other.bytes[15] ^= 0x40;
  const Gid gids[] = {own(), other};
  bench.device.set_gids(gids);
  post(own(), 10);
  sent();
  answer_from({other, own(), kRoceUdpPort}, kBurst * kUnits, proof(kBurst * kUnits));
  EXPECT_EQ(sent().first, 0U);
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 1U);
  answer(kBurst * kUnits);
  EXPECT_EQ(sent().first, kBurst);
}

// Expect: a query of this host's is answered from port 4791, the latest for all of one asker; one
// from elsewhere, or from a port that other users can have, is not answered.
TEST_F(BackpressureTest, Answers) {
  Headers headers;
  headers.bth.opcode = kDrainQueryOpcode;
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  headers.deth.source_qp = Qpn{Bench::kPeerQpn};
  for (const uint32_t mark : {5U, 9U}) {
    headers.bth.psn = Psn{mark};
    headers.deth.qkey = QKey{100 + mark};
    bench.receive_raw(headers, {own(), own(), kRoceUdpPort}, {});
  }
  headers.bth.psn = Psn{12};
  bench.receive_raw(headers, {own(), own(), 0xc123}, {});
  Flow elsewhere = bench.flow_from_peer();
  elsewhere.source_port = kRoceUdpPort;
  bench.receive_raw(headers, elsewhere, {});
  TxBatch batch(TxBatch::Limits{});
  EXPECT_FALSE(bench.device.transmit(batch, bench.now, AckPolicy::kUrgentOnly));
  ASSERT_EQ(batch.packets(), 1U);
  const TxBatch::Message& message = batch.messages()[0];
  EXPECT_EQ(message.flow.source_port, kRoceUdpPort);
  EXPECT_EQ(message.flow.destination, own());
  const auto view = parse({batch.bytes(message), message.flow, batch.identification(0)});
  ASSERT_TRUE(view);
  EXPECT_EQ(view->headers.bth.opcode, kDrainAnswerOpcode);
  EXPECT_EQ(view->headers.bth.dest_qp, Qpn{Bench::kPeerQpn});
  EXPECT_EQ(view->headers.bth.psn, Psn{9});
  EXPECT_EQ(view->headers.deth.source_qp, Qpn{Bench::kQpn});
  EXPECT_EQ(view->headers.deth.qkey, QKey{109}) << "the asker knows its answer by that";
}

// Expect: no more answers are kept than there is room for; whose query is dropped asks again.
TEST_F(BackpressureTest, AnswersAreBounded) {
  Headers headers;
  headers.bth.opcode = kDrainQueryOpcode;
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  constexpr uint32_t kMostAnswers = 64;
  for (uint32_t i = 0; i < 2 * kMostAnswers; ++i) {
    headers.deth.source_qp = Qpn{Bench::kPeerQpn + i};
    bench.receive_raw(headers, {own(), own(), kRoceUdpPort}, {});
  }
  EXPECT_EQ(bench.sent().size(), kMostAnswers);
}

// Expect: an answer that comes late takes back no room.
TEST_F(BackpressureTest, AnOldAnswerIsIgnored) {
  post(own(), kBurst + 2);
  EXPECT_EQ(sent().first, kBurst);
  answer(kBurst * kUnits);
  EXPECT_EQ(sent().first, 2U);
  answer(2 * kUnits);
  post(own(), 1);
  EXPECT_EQ(sent().first, 1U);
}

}  // namespace
}  // namespace urxe::test::backpressure_test
