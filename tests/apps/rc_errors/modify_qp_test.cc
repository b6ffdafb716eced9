// SPDX-License-Identifier: BSD-2-Clause
// The transitions of a queue pair and the attributes that each requires and allows.
#include <cerrno>

#include "pair.h"

namespace rc_errors {
namespace {

struct ModifyQp : PairTest {
  void SetUp() override {
    PairTest::SetUp();
    if (HasFatalFailure()) return;
    side_ = std::make_unique<Side>(context_.get(), settings_);
    peer_ = std::make_unique<Side>(context_.get(), settings_);
  }

  ibv_qp* qp() const { return side_->qp.get(); }
  ibv_qp_attr init() const { return init_attributes(settings_); }
  ibv_qp_attr rtr() const { return rtr_attributes(settings_, gid_, peer_->qp->qp_num); }
  ibv_qp_attr rts() const { return rts_attributes(settings_); }

  // Each attribute of the mask but the state is required.
  void expect_all_required(const ibv_qp_attr& attributes, int mask) {
    const ibv_qp_state before = state_of(qp());
    for (int bit = 1; bit <= mask; bit <<= 1) {
      if ((mask & bit) == 0 || bit == IBV_QP_STATE) continue;
      EXPECT_EQ(modify(qp(), attributes, mask & ~bit), EINVAL) << "without attribute " << bit;
      EXPECT_EQ(state_of(qp()), before);
    }
  }

  // As the transition's attributes but for one: refused, and nothing changes.
  template <typename Change>
  void expect_refused(ibv_qp_attr attributes, int mask, Change change) {
    const ibv_qp_state before = state_of(qp());
    change(attributes);
    EXPECT_EQ(modify(qp(), attributes, mask), EINVAL);
    EXPECT_EQ(state_of(qp()), before);
  }

  std::unique_ptr<Side> side_;
  std::unique_ptr<Side> peer_;
};

TEST_F(ModifyQp, EachTransitionNeedsItsAttributes) {
  expect_all_required(init(), kInitMask);
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  EXPECT_EQ(state_of(qp()), IBV_QPS_INIT);
  expect_all_required(rtr(), kRtrMask);
  ASSERT_EQ(modify(qp(), rtr(), kRtrMask), 0);
  EXPECT_EQ(state_of(qp()), IBV_QPS_RTR);
  expect_all_required(rts(), kRtsMask);
  ASSERT_EQ(modify(qp(), rts(), kRtsMask), 0);
  EXPECT_EQ(state_of(qp()), IBV_QPS_RTS);
}

TEST_F(ModifyQp, TransitionsThatDoNotExist) {
  EXPECT_EQ(modify(qp(), rtr(), kRtrMask), EINVAL) << "RESET to RTR";
  EXPECT_EQ(modify(qp(), rts(), kRtsMask), EINVAL) << "RESET to RTS";
  EXPECT_EQ(modify_state(qp(), IBV_QPS_SQD), EINVAL) << "RESET to SQD";
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  EXPECT_EQ(modify(qp(), rts(), kRtsMask), EINVAL) << "INIT to RTS";
  ASSERT_EQ(modify(qp(), rtr(), kRtrMask), 0);
  EXPECT_EQ(modify(qp(), init(), kInitMask), EINVAL) << "RTR to INIT";
  ASSERT_EQ(modify(qp(), rts(), kRtsMask), 0);
  EXPECT_EQ(modify(qp(), rtr(), kRtrMask), EINVAL) << "RTS to RTR";
  EXPECT_EQ(modify(qp(), init(), kInitMask), EINVAL) << "RTS to INIT";
  ASSERT_EQ(modify_state(qp(), IBV_QPS_ERR), 0);
  EXPECT_EQ(modify(qp(), init(), kInitMask), EINVAL) << "ERR to INIT";
  EXPECT_EQ(modify_state(qp(), IBV_QPS_RTS), EINVAL) << "ERR to RTS";
  ASSERT_EQ(modify_state(qp(), IBV_QPS_RESET), 0);
  EXPECT_EQ(state_of(qp()), IBV_QPS_RESET);
}

TEST_F(ModifyQp, InitAgainChangesAttributes) {
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  ibv_qp_attr again = init();
  again.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  EXPECT_EQ(modify(qp(), again, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
  ibv_qp_attr found{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp(), &found, IBV_QP_ACCESS_FLAGS, &created), 0);
  EXPECT_EQ(found.qp_access_flags, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
}

TEST_F(ModifyQp, AttributesThatAreNotAllowed) {
  expect_refused(init(), kInitMask | IBV_QP_QKEY, [](ibv_qp_attr&) {});
  expect_refused(init(), kInitMask | IBV_QP_TIMEOUT, [](ibv_qp_attr&) {});
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  expect_refused(rtr(), kRtrMask | IBV_QP_SQ_PSN, [](ibv_qp_attr&) {});
  ASSERT_EQ(modify(qp(), rtr(), kRtrMask), 0);
  expect_refused(rts(), kRtsMask | IBV_QP_PATH_MTU, [](ibv_qp_attr&) {});
  ASSERT_EQ(modify(qp(), rts(), kRtsMask), 0);
  expect_refused(rts(), IBV_QP_STATE | IBV_QP_SQ_PSN, [](ibv_qp_attr&) {});
}

TEST_F(ModifyQp, ValuesOutOfRange) {
  expect_refused(init(), kInitMask, [](ibv_qp_attr& attr) { attr.port_num = 2; });
  expect_refused(init(), kInitMask, [](ibv_qp_attr& attr) { attr.pkey_index = 9999; });
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  expect_refused(rtr(), kRtrMask,
                 [](ibv_qp_attr& attr) { attr.path_mtu = static_cast<ibv_mtu>(6); });
  expect_refused(rtr(), kRtrMask,
                 [](ibv_qp_attr& attr) { attr.path_mtu = static_cast<ibv_mtu>(0); });
  expect_refused(rtr(), kRtrMask, [](ibv_qp_attr& attr) { attr.min_rnr_timer = 32; });
  expect_refused(rtr(), kRtrMask, [](ibv_qp_attr& attr) { attr.max_dest_rd_atomic = 255; });
  expect_refused(rtr(), kRtrMask, [](ibv_qp_attr& attr) { attr.ah_attr.grh.sgid_index = 250; });
  expect_refused(rtr(), kRtrMask, [](ibv_qp_attr& attr) { attr.ah_attr.is_global = 0; });
  ASSERT_EQ(modify(qp(), rtr(), kRtrMask), 0);
  expect_refused(rts(), kRtsMask, [](ibv_qp_attr& attr) { attr.timeout = 32; });
  expect_refused(rts(), kRtsMask, [](ibv_qp_attr& attr) { attr.max_rd_atomic = 255; });
}

TEST_F(ModifyQp, WrongCurrentState) {
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  ASSERT_EQ(modify(qp(), rtr(), kRtrMask), 0);
  expect_refused(rts(), kRtsMask | IBV_QP_CUR_STATE,
                 [](ibv_qp_attr& attr) { attr.cur_qp_state = IBV_QPS_INIT; });
}

TEST_F(ModifyQp, QueryReturnsWhatWasSet) {
  ibv_qp_attr wanted = rtr();
  wanted.path_mtu = IBV_MTU_2048;
  wanted.min_rnr_timer = 17;
  wanted.max_dest_rd_atomic = 3;
  wanted.rq_psn = 0xabcdef;
  wanted.ah_attr.grh.traffic_class = 0x28;
  wanted.ah_attr.grh.hop_limit = 33;
  ibv_qp_attr sending = rts();
  sending.timeout = 19;
  sending.retry_cnt = 5;
  sending.rnr_retry = 3;
  sending.max_rd_atomic = 2;
  sending.sq_psn = 0x123456;
  ASSERT_EQ(modify(qp(), init(), kInitMask), 0);
  ASSERT_EQ(modify(qp(), wanted, kRtrMask), 0);
  ASSERT_EQ(modify(qp(), sending, kRtsMask), 0);
  ibv_qp_attr found{};
  ibv_qp_init_attr created{};
  ASSERT_EQ(ibv_query_qp(qp(), &found, kInitMask | kRtrMask | kRtsMask | IBV_QP_CAP, &created), 0);
  EXPECT_EQ(found.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(found.path_mtu, IBV_MTU_2048);
  EXPECT_EQ(found.min_rnr_timer, 17);
  EXPECT_EQ(found.max_dest_rd_atomic, 3);
  EXPECT_EQ(found.rq_psn, 0xabcdefU);
  EXPECT_EQ(found.dest_qp_num, peer_->qp->qp_num);
  EXPECT_EQ(found.ah_attr.is_global, 1);
  EXPECT_EQ(found.ah_attr.grh.traffic_class, 0x28);
  EXPECT_EQ(found.ah_attr.grh.hop_limit, 33);
  EXPECT_EQ(found.ah_attr.grh.sgid_index, gid_index());
  EXPECT_EQ(found.ah_attr.grh.dgid.global.interface_id, gid_.global.interface_id);
  EXPECT_EQ(found.timeout, 19);
  EXPECT_EQ(found.retry_cnt, 5);
  EXPECT_EQ(found.rnr_retry, 3);
  EXPECT_EQ(found.max_rd_atomic, 2);
  EXPECT_EQ(found.sq_psn, 0x123456U);
  EXPECT_EQ(found.port_num, kPort);
  EXPECT_EQ(found.qp_access_flags, static_cast<unsigned>(settings_.qp_access));
  EXPECT_GE(found.cap.max_send_wr, settings_.send_entries);
  EXPECT_EQ(created.qp_type, IBV_QPT_RC);
  EXPECT_EQ(created.send_cq, side_->cq.get());
  EXPECT_EQ(created.sq_sig_all, 1);
}

TEST_F(ModifyQp, MoreThanTheDeviceHas) {
  ibv_device_attr device{};
  ASSERT_EQ(ibv_query_device(context_.get(), &device), 0);
  ibv_qp_init_attr create{};
  create.send_cq = side_->cq.get();
  create.recv_cq = side_->cq.get();
  create.qp_type = IBV_QPT_RC;
  create.cap = {static_cast<uint32_t>(device.max_qp_wr) + 1, 1, 1, 1, 0};
  EXPECT_EQ(ibv_create_qp(side_->pd.get(), &create), nullptr);
  EXPECT_EQ(errno, EINVAL);
  create.cap = {1, 1, static_cast<uint32_t>(device.max_sge) + 1, 1, 0};
  EXPECT_EQ(ibv_create_qp(side_->pd.get(), &create), nullptr);
  EXPECT_EQ(ibv_create_cq(context_.get(), device.max_cqe + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace rc_errors
