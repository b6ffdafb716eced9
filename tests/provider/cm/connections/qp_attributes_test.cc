// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/qp_attributes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace urxe::cm {
namespace {

Gid gid(uint8_t last) {
  const uint8_t bytes[4] = {192, 0, 2, last};
  return Gid::from_ipv4(bytes);
}

ConnectionParameters connected(ibv_qp_type type) {
  ConnectionParameters connection;
  connection.qp_type = type;
  connection.gid_index = 3;
  connection.remote = gid(9);
  connection.flow_label = 0x12345;
  connection.traffic_class = 0x60;
  connection.hop_limit = 17;
  connection.sl = 3;
  connection.static_rate = IBV_RATE_10_GBPS;
  connection.path_mtu = IBV_MTU_2048;
  connection.ack_timeout = 18;
  connection.is_requested = true;
  connection.remote_qpn = Qpn{0x4321};
  connection.local_psn = Psn(0x111111);
  connection.remote_psn = Psn(0x222222);
  connection.responder_resources = 5;
  connection.initiator_depth = 6;
  connection.retry_count = 7;
  connection.rnr_retry_count = 4;
  return connection;
}

ib_uverbs_qp_attr attributes(const ConnectionParameters& connection, ibv_qp_state state) {
  auto found = qp_attributes(connection, state);
  EXPECT_TRUE(found);
  return found ? *found : ib_uverbs_qp_attr{};
}

constexpr uint32_t kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr uint32_t kRtrMask =
    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr uint32_t kRtrReadsMask = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr uint32_t kRtsReadsMask =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

TEST(QpAttributes, MasksAreThoseThatEachTransportNeeds) {
  struct Case {
    ibv_qp_type type;
    uint32_t init, rtr, rts;
  };
  constexpr uint32_t kUd = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
  constexpr uint32_t kRts = IBV_QP_STATE | IBV_QP_SQ_PSN;
  for (const Case& c :
       {Case{IBV_QPT_RC, kInitMask, kRtrMask | kRtrReadsMask, kRts | kRtsReadsMask},
        Case{IBV_QPT_UC, kInitMask, kRtrMask, kRts},
        Case{IBV_QPT_XRC_SEND, kInitMask, kRtrMask, kRts | kRtsReadsMask},
        Case{IBV_QPT_XRC_RECV, kInitMask, kRtrMask | kRtrReadsMask, kRts | IBV_QP_TIMEOUT},
        Case{IBV_QPT_UD, kUd, kUd, kUd}}) {
    SCOPED_TRACE(c.type);
    EXPECT_EQ(attributes(connected(c.type), IBV_QPS_INIT).qp_attr_mask, c.init);
    EXPECT_EQ(attributes(connected(c.type), IBV_QPS_RTR).qp_attr_mask, c.rtr);
    EXPECT_EQ(attributes(connected(c.type), IBV_QPS_RTS).qp_attr_mask, c.rts);
  }
}

TEST(QpAttributes, InitGivesThePeerWhatItMayAskFor) {
  auto connection = connected(IBV_QPT_RC);
  constexpr uint32_t kFlushes = 1 << 8 | 1 << 9;  // IBV_ACCESS_FLUSH_...
  constexpr uint32_t kReads = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | kFlushes;
  EXPECT_EQ(attributes(connection, IBV_QPS_INIT).qp_access_flags, IBV_ACCESS_REMOTE_WRITE | kReads);
  connection.responder_resources = 0;
  EXPECT_EQ(attributes(connection, IBV_QPS_INIT).qp_access_flags, IBV_ACCESS_REMOTE_WRITE);
  connection.remote_qpn = Qpn{};
  EXPECT_EQ(attributes(connection, IBV_QPS_INIT).qp_access_flags, IBV_ACCESS_REMOTE_WRITE)
      << "from the request on, as on Linux";
  connection.is_requested = false;
  const auto unconnected = attributes(connection, IBV_QPS_INIT);
  EXPECT_EQ(unconnected.qp_access_flags, 0U);
  EXPECT_EQ(unconnected.qp_attr_mask, kInitMask);
  EXPECT_EQ(unconnected.port_num, 1);
  EXPECT_EQ(unconnected.qp_state, static_cast<uint32_t>(IBV_QPS_INIT));
}

TEST(QpAttributes, ReadyToReceiveHasThePathAndThePeer) {
  const auto rtr = attributes(connected(IBV_QPT_RC), IBV_QPS_RTR);
  EXPECT_EQ(rtr.qp_state, static_cast<uint32_t>(IBV_QPS_RTR));
  EXPECT_EQ(rtr.path_mtu, static_cast<uint32_t>(IBV_MTU_2048));
  EXPECT_EQ(rtr.dest_qp_num, 0x4321U);
  EXPECT_EQ(rtr.rq_psn, 0x222222U);
  EXPECT_EQ(rtr.max_dest_rd_atomic, 5);
  EXPECT_EQ(rtr.min_rnr_timer, 0);
  EXPECT_EQ(rtr.ah_attr.is_global, 1);
  EXPECT_TRUE(std::equal(std::begin(rtr.ah_attr.grh.dgid), std::end(rtr.ah_attr.grh.dgid),
                         gid(9).bytes.begin()));
  EXPECT_EQ(rtr.ah_attr.grh.sgid_index, 3);
  EXPECT_EQ(rtr.ah_attr.grh.flow_label, 0x12345U);
  EXPECT_EQ(rtr.ah_attr.grh.traffic_class, 0x60);
  EXPECT_EQ(rtr.ah_attr.grh.hop_limit, 17);
  EXPECT_EQ(rtr.ah_attr.sl, 3);
  EXPECT_EQ(rtr.ah_attr.static_rate, IBV_RATE_10_GBPS);
  EXPECT_EQ(rtr.ah_attr.port_num, 1);
}

TEST(QpAttributes, ReadyToSendHasTheRetries) {
  const auto rts = attributes(connected(IBV_QPT_RC), IBV_QPS_RTS);
  EXPECT_EQ(rts.qp_state, static_cast<uint32_t>(IBV_QPS_RTS));
  EXPECT_EQ(rts.sq_psn, 0x111111U);
  EXPECT_EQ(rts.retry_cnt, 7);
  EXPECT_EQ(rts.rnr_retry, 4);
  EXPECT_EQ(rts.max_rd_atomic, 6);
  EXPECT_EQ(rts.timeout, 18);
}

TEST(QpAttributes, AnAlternatePathIsLoadedAndArmed) {
  auto connection = connected(IBV_QPT_RC);
  connection.alternate = AlternatePath{};
  connection.alternate->gid_index = 4;
  connection.alternate->remote = gid(10);
  connection.alternate->ack_timeout = 19;
  const auto rtr = attributes(connection, IBV_QPS_RTR);
  EXPECT_EQ(rtr.qp_attr_mask, kRtrMask | kRtrReadsMask | IBV_QP_ALT_PATH);
  EXPECT_EQ(rtr.alt_ah_attr.grh.sgid_index, 4);
  EXPECT_EQ(rtr.alt_ah_attr.grh.dgid[15], 10);
  EXPECT_EQ(rtr.alt_ah_attr.is_global, 1);
  EXPECT_EQ(rtr.alt_port_num, 1);
  EXPECT_EQ(rtr.alt_timeout, 19);
  const auto rts = attributes(connection, IBV_QPS_RTS);
  EXPECT_NE(rts.qp_attr_mask & IBV_QP_PATH_MIG_STATE, 0U);
  EXPECT_EQ(rts.path_mig_state, static_cast<uint32_t>(IBV_MIG_REARM));
}

TEST(QpAttributes, OfUdAreQKeyAndPort) {
  auto connection = connected(IBV_QPT_UD);
  connection.qkey = QKey{0x01234567};
  connection.pkey_index = 0;
  connection.remote_qpn = Qpn{};
  const auto init = attributes(connection, IBV_QPS_INIT);
  EXPECT_EQ(init.qkey, 0x01234567U);
  EXPECT_EQ(init.port_num, 1);
  EXPECT_TRUE(qp_attributes(connection, IBV_QPS_RTR)) << "needs no peer";
}

TEST(QpAttributes, NeedThePeersQueuePairToBeReady) {
  auto connection = connected(IBV_QPT_RC);
  connection.remote_qpn = Qpn{};
  for (ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
    const auto none = qp_attributes(connection, state);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().value, EINVAL);
  }
}

TEST(QpAttributes, OtherStatesAreRefused) {
  for (ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
    for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UD}) {
      const auto none = qp_attributes(connected(type), state);
      ASSERT_FALSE(none);
      EXPECT_EQ(none.error().value, EINVAL);
    }
  }
}

// The defect: the option counted only if it was set before rdma_connect(), and never at the end
// that accepts.
TEST(QpAttributes, TheOptionSetsTheAckTimeout) {
  CmId id;
  id.connection = connected(IBV_QPT_RC);
  EXPECT_EQ(qp_attributes(id, IBV_QPS_RTS)->timeout, 18);
  id.options.ack_timeout = 22;
  EXPECT_EQ(qp_attributes(id, IBV_QPS_RTS)->timeout, 22);
  id.options.ack_timeout = 200;
  EXPECT_EQ(qp_attributes(id, IBV_QPS_RTS)->timeout, 31);
}

}  // namespace
}  // namespace urxe::cm
