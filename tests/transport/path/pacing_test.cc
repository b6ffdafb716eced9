// SPDX-License-Identifier: BSD-2-Clause
// Packet pacing (ibv_modify_qp_rate_limit(3)).
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr uint32_t kRate = 8000;  // kb/s: a byte in a microsecond
constexpr uint32_t kPacket = 20 + 8 + 12 + kMtu + 4;
constexpr Duration kPacketTime = microseconds(kPacket);

BenchOptions patient() {
  BenchOptions options;
  options.connect.timeout = 0;  // none
  return options;
}

struct Pacing {
  explicit Pacing(const BenchOptions& options = patient()) : bench(options) {}

  int limit(const RateLimit& limit) {
    const auto set = bench.device.set_rate_limit(*bench.qp, limit, bench.now);
    return set ? 0 : set.error().value;
  }
  /// Goes on to the next deadline; how long that took.
  Duration next() {
    const auto deadline = bench.device.next_deadline();
    EXPECT_TRUE(deadline);
    const Duration waited = deadline ? *deadline - bench.now : Duration{};
    bench.pass(waited);
    return waited;
  }
  /// Packets that go out; they are acknowledged at once.
  size_t send() {
    const size_t packets = bench.sent().size();
    psn += static_cast<uint32_t>(packets);
    if (packets > 0) bench.receive_ack(psn - 1);
    return packets;
  }

  Bench bench;
  uint32_t psn = kSqPsn;
};

// Expect: a burst, then what the tokens let through, in as few steps as the burst allows.
TEST(Pacing, BurstThenRate) {
  Pacing p;
  ASSERT_EQ(p.limit({kRate, 4 * kPacket, 0}), 0);
  p.bench.post(IBV_WR_SEND, 20 * kMtu);
  EXPECT_EQ(p.send(), 4U);
  EXPECT_EQ(p.send(), 0U);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(p.next(), kPacketTime * 2);
    EXPECT_EQ(p.send(), 2U);
    EXPECT_EQ(p.send(), 0U);
  }
  p.bench.pass(seconds(1));
  EXPECT_EQ(p.send(), 4U) << "no more than a burst after a pause";
}

// Expect: a burst smaller than a packet lets packets through one by one.
TEST(Pacing, BurstSmallerThanAPacket) {
  Pacing p;
  ASSERT_EQ(p.limit({kRate, 1, 0}), 0);
  p.bench.post(IBV_WR_SEND, 5 * kMtu);
  EXPECT_EQ(p.send(), 1U);
  for (int i = 0; i < 4; ++i) {
    const Duration waited = p.next();
    EXPECT_GE(waited, kPacketTime - microseconds(1));
    EXPECT_LE(waited, kPacketTime);
    EXPECT_EQ(p.send(), 1U);
  }
}

// Expect: over a long time exactly the rate, also one whose packet time is no whole number.
TEST(Pacing, RateIsExactOverTime) {
  for (const uint32_t rate : {7U, 8'123U, 999'999U, 10'000'000U, kMaxRateKbps}) {
    Pacer pacer;
    Instant now{1'000'000};
    const Instant start = now;
    pacer.set({rate, 8 * kPacket, 0}, kMtu, now);
    constexpr uint64_t kPackets = 100'000;
    for (uint64_t i = 0; i < kPackets; ++i) {
      if (!pacer.admits(kPacket, now)) now = pacer.retry_at(kPacket);
      ASSERT_TRUE(pacer.admits(kPacket, now));
      pacer.charge(kPacket, now);
    }
    const auto elapsed = static_cast<double>((now - start).ns);
    const double expected = static_cast<double>(kPackets - 8) * kPacket * 8e6 / rate;
    EXPECT_NEAR(elapsed / expected, 1.0, 1e-4) << rate;
  }
}

// Expect: packets sent again use tokens as the first time.
TEST(Pacing, RetransmissionsCount) {
  Pacing p;
  ASSERT_EQ(p.limit({kRate, 2 * kPacket, 0}), 0);
  p.bench.post(IBV_WR_SEND, 2 * kMtu);
  EXPECT_EQ(p.bench.sent().size(), 2U);
  p.bench.receive_nak(kSqPsn, NakCode::kPsnSequenceError);
  EXPECT_EQ(p.bench.sent(), Lines{});
  EXPECT_EQ(p.next(), kPacketTime);
  EXPECT_EQ(p.bench.sent().size(), 1U);
}

// Expect: answers are not paced.
TEST(Pacing, ResponsesAreNotPaced) {
  Pacing p;
  ASSERT_EQ(p.limit({1, 1, 0}), 0);
  p.bench.post(IBV_WR_SEND, 2 * kMtu);
  EXPECT_EQ(p.bench.sent().size(), 1U);
  p.bench.receive(Operation::kReadRequest, kRqPsn,
                  p.bench.reth(Bench::kTargetVa, p.bench.target_region->rkey, 4 * kMtu));
  EXPECT_EQ(p.bench.sent().size(), 4U);
}

// Expect: where pacing pauses in a message the peer is asked for an ACK: its silence would be taken
// for a loss.
TEST(Pacing, PausesAreNotTakenForLosses) {
  BenchOptions options;
  options.connect.timeout = kTimeout;
  Pacing p(options);
  ASSERT_EQ(p.limit({100, 3 * kPacket, 0}), 0);  // 85 ms a packet
  p.bench.post(IBV_WR_SEND, 12 * kMtu);
  size_t packets = 0;
  while (packets < 12) {
    const Lines lines = p.bench.sent();
    if (lines.empty()) {  // a timer that was put off since
      p.next();
      continue;
    }
    EXPECT_NE(lines.back().find(" ack "), std::string::npos) << lines.back();
    packets += lines.size();
    p.bench.receive_ack(kSqPsn + static_cast<uint32_t>(packets) - 1);
  }
  EXPECT_EQ(p.bench.device.counters().retransmitted_packets, 0U);
  EXPECT_EQ(p.bench.device.counters().ack_timeouts, 0U);
  EXPECT_EQ(p.bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: unreliable services are paced, too, and complete as packets leave.
TEST(Pacing, UnreliableServices) {
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    BenchOptions options;
    options.type = type;
    Pacing p(options);
    ASSERT_EQ(p.limit({kRate, 1, 0}), 0);
    for (int i = 0; i < 3; ++i) {
      if (type == IBV_QPT_UD) p.bench.post_datagram(100);
      if (type == IBV_QPT_UC) p.bench.post(IBV_WR_SEND, 100);
    }
    for (size_t i = 1; i <= 3; ++i) {
      EXPECT_EQ(p.bench.sent().size(), 1U);
      EXPECT_EQ(p.bench.send_statuses().size(), 1U);
      EXPECT_EQ(p.bench.sent(), Lines{});
      if (i < 3) p.next();
    }
  }
}

// Expect: 0 lifts the limit at once.
TEST(Pacing, LimitIsLifted) {
  Pacing p;
  ASSERT_EQ(p.limit({1, 1, 0}), 0);
  p.bench.post(IBV_WR_SEND, 8 * kMtu);
  EXPECT_EQ(p.send(), 1U);
  EXPECT_EQ(p.send(), 0U);
  ASSERT_EQ(p.limit({}), 0);
  EXPECT_EQ(p.send(), 7U);
  p.bench.receive_ack(kSqPsn + 7);
  EXPECT_EQ(p.send(), 0U);
}

// Expect: a queue pair that waits for tokens holds nobody up.
TEST(Pacing, OthersGoOn) {
  Pacing p;
  Bench& bench = p.bench;
  QpInit init;
  init.qpn = Qpn{0x12};
  init.pd = bench.pd;
  init.send_cq = bench.send_cq;
  init.recv_cq = bench.recv_cq;
  init.cap = {8, 8, 1, 1, 64};
  QueuePair* other = bench.device.create_qp(init).value();
  sim::ConnectOptions connect = BenchOptions().connect;
  const uint8_t peer[4] = {192, 0, 2, 3};
  connect.destination = Gid::from_ipv4(peer);
  connect.dest_qpn = Qpn{0x33};
  ASSERT_TRUE(sim::connect(bench.device, *other, connect, bench.now));
  ASSERT_EQ(p.limit({kRate, kPacket, 0}), 0);
  bench.post(IBV_WR_SEND, 8 * kMtu);
  EXPECT_EQ(bench.sent().size(), 1U);
  sim::SendRequest request;
  request.sges = {bench.local(4 * kMtu)};
  ASSERT_TRUE(sim::post_send(bench.device, *other, request));
  EXPECT_EQ(bench.sent().size(), 4U);
  bench.device.destroy_qp(bench.qp);
  bench.device.destroy_qp(other);
  EXPECT_FALSE(bench.device.next_deadline()) << "nobody waits for tokens any more";
}

// Expect: the limits and states of the man page; query tells the rate; RESET lifts it.
TEST(Pacing, LimitsAndStates) {
  Pacing p;
  EXPECT_EQ(p.limit({kMaxRateKbps + 1, 0, 0}), EINVAL);
  EXPECT_EQ(p.limit({kMaxRateKbps, 0, 0}), 0);
  EXPECT_EQ(p.limit({kMinRateKbps, 0, 0}), 0);
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  p.bench.device.query_qp(*p.bench.qp, attr, init);
  EXPECT_EQ(attr.rate_limit, kMinRateKbps);
  EXPECT_EQ(p.bench.move_to(IBV_QPS_SQD), 0);
  EXPECT_EQ(p.limit({kRate, 0, 0}), 0);
  EXPECT_EQ(p.bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(p.limit({kRate, 0, 0}), EINVAL);
  EXPECT_EQ(p.bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(p.limit({kRate, 0, 0}), EINVAL);
  p.bench.device.query_qp(*p.bench.qp, attr, init);
  EXPECT_EQ(attr.rate_limit, 0U);
}

// Expect: ibv_modify_qp() sets the rate, and refuses what is beyond the limits.
TEST(Pacing, ByModify) {
  Pacing p;
  ibv_qp_attr attr{};
  attr.rate_limit = kMaxRateKbps + 1;
  EXPECT_FALSE(p.bench.device.modify_qp(*p.bench.qp, attr, IBV_QP_RATE_LIMIT, p.bench.now));
  attr.rate_limit = kRate;
  EXPECT_TRUE(p.bench.device.modify_qp(*p.bench.qp, attr, IBV_QP_RATE_LIMIT, p.bench.now));
  p.bench.post(IBV_WR_SEND, 20 * kMtu);
  EXPECT_EQ(p.send(), 2U);
}

// Expect: the IP header counts, which is longer in IPv6.
TEST(Pacing, CountsAllOfADatagram) {
  constexpr uint8_t kIpv6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const Opcode opcode(Service::kRc, Operation::kSendMiddle);
  Flow flow = Bench().flow_from_peer();
  EXPECT_EQ(datagram_bytes(flow, opcode, kMtu), kPacket);
  flow.source = flow.destination = Gid::from_ipv6(kIpv6);
  EXPECT_EQ(datagram_bytes(flow, opcode, kMtu), kPacket + 20);
}

}  // namespace
}  // namespace urxe::test
