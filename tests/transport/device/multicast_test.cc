// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups (IBTA vol. 1, 10.5.2).
#include <gtest/gtest.h>

#include <cerrno>

#include "packet/wire/types.h"
#include "tests/transport/bench.h"
#include "transport/limits.h"

namespace urxe::test::multicast_test {
namespace {

constexpr uint8_t kAddress[4] = {239, 1, 2, 3};
const Gid kGroup = Gid::from_ipv4(kAddress);

Gid group(uint32_t number) {
  uint8_t address[16] = {0xff, 0x0e};
  address[14] = static_cast<uint8_t>(number >> 8);
  address[15] = static_cast<uint8_t>(number);
  return Gid::from_ipv6(address);
}

BenchOptions ud() {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  return options;
}

QueuePair* add_ud(Bench& bench, uint32_t qpn, uint32_t qkey = kQKey) {
  QpInit init;
  init.qpn = Qpn(qpn);
  init.pd = bench.pd;
  init.send_cq = bench.send_cq;
  init.recv_cq = bench.recv_cq;
  init.type = IBV_QPT_UD;
  init.cap = {1, 1, 1, 1, 0};
  QueuePair* qp = bench.device.create_qp(init).value();
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  attr.qkey = qkey;
  const int mask = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
  EXPECT_TRUE(bench.device.modify_qp(*qp, attr, mask, bench.now));
  attr.qp_state = IBV_QPS_RTR;
  EXPECT_TRUE(bench.device.modify_qp(*qp, attr, IBV_QP_STATE, bench.now));
  return qp;
}

/// A datagram of the peer to `to`.
void receive(Bench& bench, const Gid& to, uint32_t qpn = kMulticastQpn,
             Qpn source = Qpn(Bench::kPeerQpn)) {
  Headers headers = Bench::deth();
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn(qpn);
  headers.deth.source_qp = source;
  Flow flow = bench.flow_from_peer();
  flow.destination = to;
  bench.receive_raw(headers, flow, {1, 2, 3, 4});
}

int error_of(const Expected<void, Errno>& result) {
  return result ? 0 : result.error().value;
}

// Expect: a copy for each; the one without a receive drops its own only.
TEST(Multicast, ACopyForEachMember) {
  Bench bench(ud());
  QueuePair* other = add_ud(bench, 0x33);
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
  ASSERT_TRUE(bench.device.attach_multicast(*other, kGroup));
  bench.post_receive();
  receive(bench, kGroup);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  EXPECT_EQ(bench.device.counters().multicast_packets_received, 1U);
  EXPECT_EQ(bench.device.report(0).value().counters.received_packets, 1U);
  EXPECT_EQ(bench.device.report(1).value().counters.received_bytes, 12U + 8 + 4 + 4);
}

TEST(Multicast, AttachingTwiceIsAttachingOnce) {
  Bench bench(ud());
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
  bench.post_receive();
  bench.post_receive();
  receive(bench, kGroup);
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
  ASSERT_TRUE(bench.device.detach_multicast(*bench.qp, kGroup));
  EXPECT_EQ(error_of(bench.device.detach_multicast(*bench.qp, kGroup)), EINVAL);
  receive(bench, kGroup);
  EXPECT_EQ(bench.receive_statuses().size(), 0U);
  EXPECT_EQ(bench.dropped(DropReason::kUnknownQp), 1U);
}

// Expect: each copy is subject to its queue pair's Q_Key and state (10.5.2.1).
TEST(Multicast, EachMemberDecides) {
  Bench bench(ud());
  QueuePair* other_key = add_ud(bench, 0x33, 0x77);
  QueuePair* reset = add_ud(bench, 0x34);
  for (QueuePair* qp : {other_key, reset, bench.qp}) {
    ASSERT_TRUE(bench.device.attach_multicast(*qp, kGroup));
  }
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  ASSERT_TRUE(bench.device.modify_qp(*reset, attr, IBV_QP_STATE, bench.now));
  bench.post_receive();
  receive(bench, kGroup);
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.dropped(DropReason::kBadQKey), 1U);
  EXPECT_EQ(bench.dropped(DropReason::kQpState), 1U);
}

// Expect: neither a queue pair's number in a packet to a group, nor the groups' number in one to an
// address of ours, reaches a queue pair.
TEST(Multicast, TheNumberBelongsToGroups) {
  Bench bench(ud());
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
  bench.post_receive();
  receive(bench, kGroup, Bench::kQpn);
  receive(bench, bench.flow_from_peer().destination, kMulticastQpn);
  EXPECT_EQ(bench.receive_statuses().size(), 0U);
  EXPECT_EQ(bench.dropped(DropReason::kUnknownQp), 2U);
}

// IBV_QP_CREATE_BLOCK_SELF_MCAST_LB. Expect: only what it has sent itself is kept from it.
TEST(Multicast, OwnDatagramsMayBeUnwanted) {
  Bench bench(ud());
  bench.qp->blocks_own_multicast = true;
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
  bench.post_receive();
  Headers headers = Bench::deth();
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn(kMulticastQpn);
  headers.deth.source_qp = Qpn(Bench::kQpn);
  Flow own = bench.flow_from_peer();
  own.source = own.destination;
  own.destination = kGroup;
  bench.receive_raw(headers, own, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 0U);
  receive(bench, kGroup, kMulticastQpn, Qpn(Bench::kQpn));  // another host's number
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
  bench.post_receive();
  headers.deth.source_qp = Qpn(Bench::kQpn + 1);  // a neighbour's
  bench.receive_raw(headers, own, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

TEST(Multicast, Refusals) {
  Bench bench(ud());
  Bench rc;
  EXPECT_EQ(error_of(bench.device.attach_multicast(*bench.qp, bench.flow_from_peer().source)),
            EINVAL);
  EXPECT_EQ(error_of(rc.device.attach_multicast(*rc.qp, kGroup)), EINVAL);
  EXPECT_EQ(error_of(bench.device.detach_multicast(*bench.qp, kGroup)), EINVAL);
  for (uint32_t i = 0; i < kMaxMulticastGroups; ++i) {
    ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, group(i)));
  }
  EXPECT_EQ(error_of(bench.device.attach_multicast(*bench.qp, kGroup)), ENOMEM);
  ASSERT_TRUE(bench.device.detach_multicast(*bench.qp, group(7)));
  EXPECT_TRUE(bench.device.attach_multicast(*bench.qp, kGroup));
}

TEST(Multicast, TooManyInAGroup) {
  Bench bench(ud());
  for (uint32_t i = 0; i < kMaxMulticastAttached; ++i) {
    ASSERT_TRUE(bench.device.attach_multicast(*add_ud(bench, 0x100 + i), kGroup));
  }
  EXPECT_EQ(error_of(bench.device.attach_multicast(*bench.qp, kGroup)), ENOMEM);
}

TEST(Multicast, ADestroyedQueuePairIsDetached) {
  Bench bench(ud());
  QueuePair* other = add_ud(bench, 0x33);
  ASSERT_TRUE(bench.device.attach_multicast(*other, kGroup));
  ASSERT_TRUE(bench.device.attach_multicast(*other, group(1)));
  ASSERT_TRUE(bench.device.attach_multicast(*bench.qp, group(1)));
  EXPECT_TRUE(bench.device.multicast().group_of(*other).has_value());
  bench.device.destroy_qp(other);
  EXPECT_FALSE(bench.device.multicast().has(kGroup));
  EXPECT_EQ(bench.device.multicast().members(group(1)).size(), 1U);
  receive(bench, kGroup);
  EXPECT_EQ(bench.dropped(DropReason::kUnknownQp), 1U);
}

TEST(Multicast, SentDatagramsAreCounted) {
  Bench bench(ud());
  sim::SendRequest request;
  request.datagram.flow = {bench.flow_from_peer().destination, kGroup};
  request.datagram.qpn = Qpn(kMulticastQpn);
  bench.post(request);
  bench.post_datagram(1);
  EXPECT_EQ(bench.sent().size(), 2U);
  EXPECT_EQ(bench.device.counters().multicast_packets_sent, 1U);
}

}  // namespace
}  // namespace urxe::test::multicast_test
