// SPDX-License-Identifier: BSD-2-Clause
// The arithmetic of a path's window and times, and congestion notifications (annex A17.9).
#include "transport/path/congestion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "tests/transport/bench.h"
#include "transport/path/congestion_notification.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe::test {
namespace {

constexpr uint32_t kMaxWindow = 1 << 20;
constexpr uint32_t kFirstWindow = 128 * 1024;
constexpr uint32_t kLeastWindow = 16 * 1024;
constexpr Instant kStart{1'000'000'000};

TEST(PathWindow, GrowsByWhatIsAcknowledgedUntilTheFirstLoss) {
  Path path(kMaxWindow);
  EXPECT_EQ(path.window(), kFirstWindow);
  path.on_acknowledged(10'000);
  EXPECT_EQ(path.window(), kFirstWindow + 10'000);
  path.on_acknowledged(2 * kMaxWindow);
  EXPECT_EQ(path.window(), kMaxWindow);
}

TEST(PathWindow, GrowsByOneStepAWindowAfterALoss) {
  Path path(kMaxWindow);
  ASSERT_TRUE(path.on_loss(kStart));
  const uint32_t halved = kFirstWindow / 2;
  EXPECT_EQ(path.window(), halved);
  path.on_acknowledged(halved - 1);
  EXPECT_EQ(path.window(), halved);
  path.on_acknowledged(1);
  EXPECT_EQ(path.window(), halved + 8192);
}

TEST(PathWindow, HalvesOnceARoundTripAndHasALeast) {
  Path path(kMaxWindow);
  path.on_round_trip(milliseconds(1));
  EXPECT_TRUE(path.on_loss(kStart));
  EXPECT_FALSE(path.on_loss(kStart + milliseconds(1) - nanoseconds(1)));
  EXPECT_TRUE(path.on_loss(kStart + milliseconds(1)));
  EXPECT_EQ(path.window(), kFirstWindow / 4);
  for (int i = 2; i < 20; ++i) path.on_loss(kStart + milliseconds(i));
  EXPECT_EQ(path.window(), kLeastWindow);
}

TEST(PathWindow, LossesCloseTogetherAreOneBeforeARoundTripWasMeasured) {
  Path path(kMaxWindow);
  EXPECT_TRUE(path.on_loss(kStart));
  EXPECT_FALSE(path.on_loss(kStart + microseconds(49)));
  EXPECT_TRUE(path.on_loss(kStart + microseconds(50)));
}

TEST(PathWindow, HasRoomUpToItAndTurnsThatAreParts) {
  Path path(kMaxWindow);
  EXPECT_EQ(path.turn(), kFirstWindow / 4);
  path.take(kFirstWindow - 1);
  EXPECT_TRUE(path.has_room());
  path.take(1);
  EXPECT_FALSE(path.has_room());
  path.give_back(1);
  EXPECT_TRUE(path.has_room());
  EXPECT_EQ(path.in_flight(), kFirstWindow - 1);
}

// Expect: through memory the window may become larger than the peer's socket would allow, until
// packets are lost, which were not there then.
TEST(PathWindow, IsLargerThroughMemory) {
  constexpr uint32_t kSocketWindow = 160 * 1024;
  Path path(kSocketWindow);
  path.on_round_trip(microseconds(100));
  path.on_acknowledged(kMaxWindow);
  EXPECT_EQ(path.window(), kSocketWindow);
  path.on_answer_through_memory(kMaxWindow, kStart);
  path.on_acknowledged(kMaxWindow);
  EXPECT_EQ(path.window(), kMaxWindow);
  path.note_loss(kStart);
  EXPECT_TRUE(path.on_loss(kStart));
  EXPECT_EQ(path.window(), kSocketWindow);
  path.on_answer_through_memory(kMaxWindow, kStart + milliseconds(500));
  for (int i = 0; i < 1000; ++i) path.on_acknowledged(kMaxWindow);
  EXPECT_EQ(path.window(), kSocketWindow);
  path.on_answer_through_memory(kMaxWindow, kStart + milliseconds(1500));
  for (int i = 0; i < 1000; ++i) path.on_acknowledged(kMaxWindow);
  EXPECT_EQ(path.window(), kMaxWindow);
}

// Expect: an answer that has come so allows it.
TEST(PathWindow, AnAnswerThroughMemoryWidensIt) {
  BenchOptions options;
  options.socket_window = kFirstWindow;
  for (const bool through_memory : {false, true}) {
    Bench bench(options);
    bench.through_memory = through_memory;
    bench.post(IBV_WR_RDMA_WRITE, 16 * kMtu);
    bench.sent();
    bench.receive_ack(kSqPsn + 15);
    if (through_memory) {
      EXPECT_GT(bench.qp->path->window(), kFirstWindow);
    } else {
      EXPECT_EQ(bench.qp->path->window(), kFirstWindow);
    }
  }
}

TEST(PathTimes, TheFirstSampleCountsInFullAndOthersInPart) {
  Path path(kMaxWindow);
  EXPECT_EQ(path.round_trip_bound(), Duration{});
  EXPECT_EQ(path.probe_timeout(), milliseconds(20));
  path.on_round_trip(microseconds(800));
  EXPECT_EQ(path.round_trip_bound(), microseconds(2 * 800 + 4 * 400));
  EXPECT_EQ(path.probe_timeout(), milliseconds(4));
  path.on_round_trip(microseconds(1600));  // +800: a quarter of it, less the variation; an eighth
  EXPECT_EQ(path.round_trip_bound(), microseconds(2 * 900 + 4 * 500));
  for (int i = 0; i < 100; ++i) path.on_round_trip(milliseconds(10));
  EXPECT_GE(path.probe_timeout(), milliseconds(19));
  EXPECT_LE(path.probe_timeout(), milliseconds(22));
}

TEST(PathTimes, APacketIsBehindOthersWhileOnlyEarlierOnesAreAnswered) {
  Path path(kMaxWindow);
  path.on_round_trip(microseconds(100));
  const Instant sent = kStart + microseconds(10);
  EXPECT_FALSE(path.is_behind_others(sent, sent + microseconds(1))) << "no answer at all";
  path.on_answer(kStart, sent + microseconds(1));
  EXPECT_TRUE(path.is_behind_others(sent, sent + microseconds(2)));
  EXPECT_FALSE(path.is_behind_others(sent, sent + milliseconds(10))) << "the answer is old";
  path.on_answer(sent + microseconds(1), sent + microseconds(3));
  EXPECT_FALSE(path.is_behind_others(sent, sent + microseconds(4))) << "a later one was answered";
}

TEST(PathTables, QueuePairsOfOneProcessShareAPath) {
  PathTable paths;
  const Gid here = Gid::from_ipv4(std::array<uint8_t, 4>{192, 0, 2, 1}.data());
  const Gid there = Gid::from_ipv4(std::array<uint8_t, 4>{192, 0, 2, 2}.data());
  Path* const path = paths.acquire(here, 0x8001, kMaxWindow);
  EXPECT_EQ(paths.acquire(here, 0x8002, kMaxWindow), path);
  EXPECT_NE(paths.acquire(here, 0x10001, kMaxWindow), path) << "another process";
  EXPECT_NE(paths.acquire(there, 0x8001, kMaxWindow), path);
  path->take(77);
  paths.release(path);
  EXPECT_EQ(path->in_flight(), 77U) << "one has it still";
  paths.release(path);
  EXPECT_EQ(paths.acquire(here, 0x8001, kMaxWindow)->in_flight(), 0U);
}

struct CnpBench : Bench {
  void receive_cnp(uint32_t qpn = kQpn) {
    Headers headers;
    headers.bth.opcode = kCnpOpcode;
    headers.bth.dest_qp = Qpn{qpn};
    receive_raw(headers, flow_from_peer(), std::vector<uint8_t>(16));
  }
  /// The next request of the peer, as a switch hands it on that marks it.
  void receive_marked(uint8_t traffic_class = 0x6b, uint32_t dest_qp = kQpn) {
    Headers headers;
    headers.bth.opcode = Opcode(service, Operation::kWriteOnly);
    if (dest_qp == kQpn) headers.bth.psn = Psn(next_psn_++);
    headers.bth.dest_qp = Qpn(dest_qp);
    headers.reth = reth(kTargetVa, target_region->rkey, 0).reth;
    Flow flow = flow_from_peer();
    flow.traffic_class = traffic_class;
    receive_raw(headers, flow, {});
  }
  Service service = Service::kRc;

 private:
  uint32_t next_psn_ = kRqPsn;

 public:
  using Bench::Bench;
};

const Lines kNotification = {"CNP psn 0 becn len 16"};

// Expect: the window halves, once a round trip, and nothing is sent in answer.
TEST(CongestionNotification, SlowsThePathDown) {
  CnpBench bench;
  const uint32_t before = bench.qp->path->window();
  bench.receive_cnp();
  EXPECT_EQ(bench.qp->path->window(), before / 2);
  bench.receive_cnp();
  EXPECT_EQ(bench.qp->path->window(), before / 2);
  bench.pass(milliseconds(1));
  bench.receive_cnp();
  EXPECT_EQ(bench.qp->path->window(), before / 4);
  EXPECT_EQ(bench.device.counters().cnps_handled, 3U);
  EXPECT_EQ(bench.device.counters().congestion_backoffs, 2U);
  EXPECT_TRUE(bench.sent().empty());
}

// Annex A17.9. Expect: a marked packet is answered by a notification with BECN and 16 bytes of 0,
// one in 50 us however many are marked, in a packet that no switch marks.
TEST(CongestionNotification, MarkedPacketsAreAnswered) {
  CnpBench bench;
  bench.receive_marked();
  bench.receive_marked();
  TxBatch batch{TxBatch::Limits{}};
  bench.device.transmit(batch, bench.now, AckPolicy::kUrgentOnly);
  ASSERT_EQ(batch.messages().size(), 1U);
  const TxBatch::Message& message = batch.messages()[0];
  EXPECT_EQ(message.flow.traffic_class & 3, 0);
  const auto packet = parse(RxPacket{batch.bytes(message), message.flow, 0, true});
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->headers.bth.opcode, kCnpOpcode);
  EXPECT_TRUE(packet->headers.bth.becn);
  EXPECT_EQ(packet->headers.bth.dest_qp, Qpn(CnpBench::kPeerQpn));
  EXPECT_TRUE(std::ranges::equal(packet->payload, std::vector<uint8_t>(16)));
  bench.pass(kNotificationInterval - nanoseconds(1));
  bench.receive_marked();
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), Lines{});
  bench.pass(nanoseconds(1));
  bench.receive_marked();
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), kNotification);
  EXPECT_EQ(bench.device.counters().cnps_sent, 2U);
  EXPECT_EQ(bench.device.counters().ecn_marked_packets, 4U);
}

// Expect: no other ECN value is answered, and no packet that is dropped.
TEST(CongestionNotification, OthersAreNotAnswered) {
  CnpBench bench;
  for (const uint8_t ecn : std::initializer_list<uint8_t>{0, 1, 2}) bench.receive_marked(ecn);
  bench.receive_marked(3, CnpBench::kQpn + 1);
  EXPECT_EQ(bench.sent(AckPolicy::kUrgentOnly), Lines{});
  EXPECT_EQ(bench.device.counters().cnps_sent, 0U);
  EXPECT_EQ(bench.device.counters().ecn_marked_packets, 1U);
}

TEST(CongestionNotification, UcAnswersBeforeItSends) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  options.state = IBV_QPS_RTR;
  CnpBench bench(options);
  bench.service = Service::kUc;
  bench.receive_marked();
  EXPECT_EQ(bench.sent(), kNotification);
}

// Expect: nothing of one connection is left to the next one.
TEST(CongestionNotification, ResetForgetsIt) {
  CnpBench bench;
  bench.receive_marked();
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.device.counters().cnps_sent, 0U);
}

TEST(CongestionNotification, ForAQueuePairThatIsNotThereIsDropped) {
  CnpBench bench;
  const uint32_t before = bench.qp->path->window();
  bench.receive_cnp(CnpBench::kQpn + 1);
  EXPECT_EQ(bench.dropped(DropReason::kUnknownQp), 1U);
  EXPECT_EQ(bench.qp->path->window(), before);
}

}  // namespace
}  // namespace urxe::test
