// SPDX-License-Identifier: BSD-2-Clause
// The values of a queue pair's attributes: which are refused, and that a query returns them.
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct QpAttributes : Conformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    endpoint_ = std::make_unique<Endpoint>(device_, config_);
    init_ = init_attr(device_, config_);
    rtr_ = rtr_attr(device_, config_, endpoint_->number());
    rts_ = rts_attr(config_);
  }
  void TearDown() override {
    endpoint_.reset();
    Conformance::TearDown();
  }
  ibv_qp* qp() const { return endpoint_->qp.get(); }
  static int modify(ibv_qp* qp, ibv_qp_attr attr, int mask) {
    return ibv_modify_qp(qp, &attr, mask);
  }
  /// As the transition's attributes but for one: refused, and nothing changes.
  template <typename Change>
  void expect_refused(ibv_qp_attr attr, int mask, Change change) {
    const ibv_qp_state before = state_of(qp());
    change(attr);
    EXPECT_EQ(modify(qp(), attr, mask), EINVAL);
    EXPECT_EQ(state_of(qp()), before);
  }

  QpConfig config_;
  ibv_qp_attr init_{}, rtr_{}, rts_{};
  std::unique_ptr<Endpoint> endpoint_;
};

TEST_F(QpAttributes, InitValues) {
  checks("ibv_modify_qp(3): port_num, pkey_index");
  const int mask = init_mask(IBV_QPT_RC);
  expect_refused(init_, mask, [](ibv_qp_attr& attr) { attr.port_num = 0; });
  expect_refused(init_, mask, [](ibv_qp_attr& attr) { attr.port_num = 200; });
  expect_refused(init_, mask, [](ibv_qp_attr& attr) { attr.pkey_index = 65535; });
  EXPECT_EQ(modify(qp(), init_, mask), 0);
}

TEST_F(QpAttributes, RtrValues) {
  checks("ibv_modify_qp(3): path_mtu, max_dest_rd_atomic, min_rnr_timer, ah_attr");
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  const int mask = rtr_mask(IBV_QPT_RC);
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.path_mtu = static_cast<ibv_mtu>(0); });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.path_mtu = static_cast<ibv_mtu>(6); });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.max_dest_rd_atomic = 255; });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.min_rnr_timer = 32; });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.ah_attr.grh.sgid_index = 254; });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.ah_attr.port_num = 200; });
  expect_refused(rtr_, mask, [](ibv_qp_attr& attr) { attr.ah_attr.port_num = 0; });
  EXPECT_EQ(modify(qp(), rtr_, mask), 0);
}

TEST_F(QpAttributes, RoceNeedsAGrh) {
  checks("ibv_modify_qp(3): IBV_QPF_GRH_REQUIRED needs ah_attr.is_global");
  if (!need_if_any((device_.port_attr.flags & IBV_QPF_GRH_REQUIRED) != 0, "GRHs being required"))
    return;
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  expect_refused(rtr_, rtr_mask(IBV_QPT_RC), [](ibv_qp_attr& attr) { attr.ah_attr.is_global = 0; });
}

TEST_F(QpAttributes, RtsValues) {
  checks("ibv_modify_qp(3): timeout, max_rd_atomic");
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  ASSERT_EQ(modify(qp(), rtr_, rtr_mask(IBV_QPT_RC)), 0);
  const int mask = rts_mask(IBV_QPT_RC);
  expect_refused(rts_, mask, [](ibv_qp_attr& attr) { attr.timeout = 32; });
  expect_refused(rts_, mask, [](ibv_qp_attr& attr) { attr.max_rd_atomic = 255; });
  EXPECT_EQ(modify(qp(), rts_, mask), 0);
}

TEST_F(QpAttributes, RefusedChangeChangesNothing) {
  checks("ibv_modify_qp(3): if any attribute is invalid, none is modified");
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  ibv_qp_attr changed = init_;
  changed.qp_access_flags = 0;
  changed.pkey_index = 65535;
  EXPECT_EQ(modify(qp(), changed, IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX), EINVAL);
  EXPECT_EQ(query(qp()).qp_access_flags, kRemoteAccess);
}

TEST_F(QpAttributes, QueryReturnsWhatWasSet) {
  checks("ibv_query_qp(3)");
  rtr_.path_mtu = IBV_MTU_512;
  rtr_.min_rnr_timer = 17;
  rtr_.max_dest_rd_atomic = 3;
  rtr_.rq_psn = 0xabcdef;
  rtr_.dest_qp_num = 0x123456;
  rtr_.ah_attr.grh.traffic_class = 0x28;
  rtr_.ah_attr.grh.hop_limit = 33;
  rts_.timeout = 19;
  rts_.retry_cnt = 5;
  rts_.rnr_retry = 3;
  rts_.max_rd_atomic = 2;
  rts_.sq_psn = 0x654321;
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  ASSERT_EQ(modify(qp(), rtr_, rtr_mask(IBV_QPT_RC)), 0);
  ASSERT_EQ(modify(qp(), rts_, rts_mask(IBV_QPT_RC)), 0);
  const ibv_qp_attr found = query(qp());
  EXPECT_EQ(found.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(found.cur_qp_state, IBV_QPS_RTS);
  EXPECT_EQ(found.path_mtu, IBV_MTU_512);
  EXPECT_EQ(found.min_rnr_timer, 17);
  EXPECT_EQ(found.max_dest_rd_atomic, 3);
  EXPECT_EQ(found.rq_psn, 0xabcdefU);
  EXPECT_EQ(found.dest_qp_num, 0x123456U);
  EXPECT_EQ(found.timeout, 19);
  EXPECT_EQ(found.retry_cnt, 5);
  EXPECT_EQ(found.rnr_retry, 3);
  EXPECT_EQ(found.max_rd_atomic, 2);
  EXPECT_EQ(found.sq_psn, 0x654321U);
  EXPECT_EQ(found.port_num, device_.port);
  EXPECT_EQ(found.pkey_index, 0);
  EXPECT_EQ(found.qp_access_flags, kRemoteAccess);
  EXPECT_EQ(found.sq_draining, 0);
}

TEST_F(QpAttributes, QueryReturnsTheAddress) {
  checks("ibv_query_qp(3): ah_attr");
  rtr_.ah_attr.grh.traffic_class = 0x28;
  rtr_.ah_attr.grh.hop_limit = 33;
  rtr_.ah_attr.grh.flow_label = 0x12345;
  rtr_.ah_attr.sl = 3;
  ASSERT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
  ASSERT_EQ(modify(qp(), rtr_, rtr_mask(IBV_QPT_RC)), 0);
  const ibv_ah_attr found = query(qp()).ah_attr;
  EXPECT_EQ(found.is_global, 1);
  EXPECT_EQ(found.grh.traffic_class, 0x28);
  EXPECT_EQ(found.grh.hop_limit, 33);
  EXPECT_EQ(found.grh.flow_label, 0x12345U);
  EXPECT_EQ(found.grh.sgid_index, device_.gid_index);
  EXPECT_EQ(std::memcmp(&found.grh.dgid, &device_.gid, sizeof found.grh.dgid), 0);
  EXPECT_EQ(found.sl, 3);
  EXPECT_EQ(found.port_num, device_.port);
}

TEST_F(QpAttributes, AccessFlagsChangeInRts) {
  checks("ibv_modify_qp(3): IBV_QP_ACCESS_FLAGS in RTS; IBTA 9.7.4.1.3");
  Endpoint peer(device_, config_);
  endpoint_->connect_to(peer.number());
  peer.connect_to(endpoint_->number());
  Buffer source(endpoint_->pd, 8, kAllAccess, 0x5a);
  Buffer target(peer.pd, 8);
  Send write(1, IBV_WR_RDMA_WRITE);
  write.data(source.sge()).remote(target.address(), target.rkey());
  ASSERT_EQ(write.post(qp()), 0);
  expect_completion(endpoint_->send_cq.get(), 1);
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  ASSERT_EQ(modify(peer.qp.get(), attr, IBV_QP_ACCESS_FLAGS), 0);
  ASSERT_EQ(write.post(qp()), 0);
  const ibv_wc wc = next_completion(endpoint_->send_cq.get());
  EXPECT_TRUE(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(QpAttributes, AccessFlagsOfARegionAreTaken) {
  checks("ibv_modify_qp(3): qp_access_flags; programs pass the flags of their regions");
  constexpr unsigned kFlush = 1U << 8 | 1U << 9;  // IBV_ACCESS_FLUSH_*: newer pyverbs sets them
  init_.qp_access_flags = kAllAccess | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_RELAXED_ORDERING | kFlush;
  EXPECT_EQ(modify(qp(), init_, init_mask(IBV_QPT_RC)), 0);
}

TEST_F(QpAttributes, UdQuery) {
  checks("ibv_query_qp(3): qkey");
  QpConfig ud;
  ud.type = IBV_QPT_UD;
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  const QpPtr probe(Endpoint::create(device_, ud, pd.get(), cq.get(), cq.get()));
  if (!need(probe != nullptr, "UD queue pairs")) return;
  ASSERT_EQ(to_init(device_, probe.get(), ud), 0);
  const ibv_qp_attr found = query(probe.get());
  EXPECT_EQ(found.qkey, ud.qkey);
  EXPECT_EQ(found.qp_state, IBV_QPS_INIT);
}

}  // namespace
}  // namespace conformance
