// SPDX-License-Identifier: BSD-2-Clause
// The address that a request of an extended UD queue pair must have.
#include "tests/conformance/support/datagrams.h"

namespace conformance {
namespace {

struct WrBatchUd : DatagramConformance {
  void start_builders() {
    QpConfig config;
    config.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    start(config, config);
    if (stopped()) return;
    qpx_ = ibv_qp_to_qp_ex(left_qp());
    ASSERT_NE(qpx_, nullptr);
    qpx_->wr_flags = IBV_SEND_SIGNALED;
  }
  void set_address(ibv_ah* ah) {
    ibv_wr_set_ud_addr(qpx_, ah, right_->number(), right_->config.qkey);
  }

  ibv_qp_ex* qpx_ = nullptr;
};

TEST_F(WrBatchUd, AddressIsMandatory) {
  checks("ibv_wr_post(3): ibv_wr_set_ud_addr() must be called");
  start_builders();
  if (stopped()) return;
  for (const bool first : {true, false}) {
    ibv_wr_start(qpx_);
    ibv_wr_send(qpx_);
    if (!first) set_address(ah_.get());
    ibv_wr_send(qpx_);
    if (first) set_address(ah_.get());
    EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  }
  expect_empty(left_done());
}

TEST_F(WrBatchUd, AddressOfAnotherDomain) {
  checks("ibv_wr_post(3), IBTA vol. 1, 10.2.2.1: an address handle of another domain");
  start_builders();
  if (stopped()) return;
  const PdPtr pd = alloc_pd();
  const AhPtr foreign = create_ah(pd.get());
  ibv_wr_start(qpx_);
  ibv_wr_send(qpx_);
  set_address(foreign.get());
  EXPECT_EQ(ibv_wr_complete(qpx_), EINVAL);
  expect_empty(left_done());
}

}  // namespace
}  // namespace conformance
