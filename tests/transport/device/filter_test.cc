// SPDX-License-Identifier: BSD-2-Clause
// Which packets reach a queue pair at all (IBTA vol. 1, 9.6.1; annex A17).
#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

Headers send_only() {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  headers.bth.psn = Psn{kRqPsn};
  headers.bth.ack_req = true;
  return headers;
}

/// Expect: nothing happens but that the reason's counter is 1.
void expect_drop(Bench& bench, DropReason reason) {
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  for (size_t i = 0; i < static_cast<size_t>(DropReason::kCount); ++i) {
    EXPECT_EQ(bench.device.counters().drops[i], i == static_cast<size_t>(reason) ? 1U : 0U)
        << drop_reason_name(static_cast<DropReason>(i));
  }
}

TEST(Filter, GoodPacketPasses) {
  Bench bench;
  bench.post_receive();
  bench.receive_raw(send_only(), bench.flow_from_peer(), {1});
  EXPECT_EQ(bench.sent(), (Lines{"ACK psn 200 credits 0 msn 1"}));
}

TEST(Filter, UnknownQueuePair) {
  for (const uint32_t qpn : {0U, 2U, 0x12U, 0x8011U, 0xffffffU}) {
    Bench bench;
    bench.post_receive();
    Headers headers = send_only();
    headers.bth.dest_qp = Qpn{qpn};
    bench.receive_raw(headers, bench.flow_from_peer(), {1});
    expect_drop(bench, DropReason::kUnknownQp);
  }
}

TEST(Filter, WrongPeer) {
  const uint8_t stranger[4] = {192, 0, 2, 3};
  Bench bench;
  bench.post_receive();
  Flow flow = bench.flow_from_peer();
  flow.source = Gid::from_ipv4(stranger);
  bench.receive_raw(send_only(), flow, {1});
  expect_drop(bench, DropReason::kWrongPeer);
}

TEST(Filter, WrongLocalAddress) {
  const uint8_t other[4] = {192, 0, 2, 9};
  Bench bench;
  bench.post_receive();
  Flow flow = bench.flow_from_peer();
  flow.destination = Gid::from_ipv4(other);
  bench.receive_raw(send_only(), flow, {1});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

// Annex A17: the source port says nothing of who sends.
TEST(Filter, AnySourcePortWillDo) {
  Bench bench;
  bench.post_receive();
  Flow flow = bench.flow_from_peer();
  flow.source_port = 0;
  bench.receive_raw(send_only(), flow, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

TEST(Filter, WrongService) {
  for (const Service service : {Service::kUc, Service::kUd, Service::kXrc}) {
    Bench bench;
    bench.post_receive();
    Headers headers = send_only();
    headers.bth.opcode = Opcode(service, Operation::kSendOnly);
    bench.receive_raw(headers, bench.flow_from_peer(), {1});
    expect_drop(bench, DropReason::kWrongService);
  }
}

// Expect: what urxe's ends tell each other of gaps is for reliable queue pairs that receive.
TEST(Filter, PacketsAboutGaps) {
  for (const Opcode opcode : {kGapQueryOpcode, kGapReportOpcode}) {
    Headers headers;
    headers.bth.opcode = opcode;
    headers.bth.dest_qp = Qpn(Bench::kQpn);
    const std::vector<uint8_t> payload(opcode == kGapReportOpcode ? kGapReportBytes : 0);
    for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
      BenchOptions options;
      options.type = type;
      Bench bench(options);
      bench.receive_raw(headers, bench.flow_from_peer(), payload);
      EXPECT_EQ(bench.dropped(DropReason::kWrongService), 1U) << type;
    }
    Bench bench;
    EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
    bench.receive_raw(headers, bench.flow_from_peer(), payload);
    EXPECT_EQ(bench.dropped(DropReason::kQpState), 1U);
  }
}

TEST(Filter, WrongPKey) {
  Bench bench;
  bench.post_receive();
  Headers headers = send_only();
  headers.bth.pkey = PKey{0x8001};
  bench.receive_raw(headers, bench.flow_from_peer(), {1});
  expect_drop(bench, DropReason::kBadPKey);
}

// 10.9.3. Expect: a limited member may talk to a full member.
TEST(Filter, LimitedMemberPasses) {
  Bench bench;
  bench.post_receive();
  Headers headers = send_only();
  headers.bth.pkey = PKey{0x7fff};
  bench.receive_raw(headers, bench.flow_from_peer(), {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

TEST(Filter, StatesThatDoNotReceive) {
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_ERR}) {
    Bench bench;
    ASSERT_EQ(bench.move_to(state), 0);
    bench.receive_raw(send_only(), bench.flow_from_peer(), {1});
    expect_drop(bench, DropReason::kQpState);
  }
}

TEST(Filter, BadIcrc) {
  Bench bench;
  bench.post_receive();
  TxBatch batch(TxBatch::Limits{});
  ASSERT_NE(batch.append(bench.flow_from_peer(), send_only(), 0), nullptr);
  batch.commit();
  const auto good = batch.bytes(batch.messages()[0]);
  std::vector<uint8_t> bytes(good.begin(), good.end());
  bytes[9] ^= 1;
  bench.device.receive({bytes, bench.flow_from_peer(), uint16_t{0}}, bench.now);
  expect_drop(bench, DropReason::kBadIcrc);
}

TEST(Filter, Truncated) {
  Bench bench;
  const std::vector<uint8_t> bytes(15);
  bench.device.receive({bytes, bench.flow_from_peer(), uint16_t{0}}, bench.now);
  expect_drop(bench, DropReason::kTruncated);
}

}  // namespace
}  // namespace urxe::test
