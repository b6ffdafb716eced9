// SPDX-License-Identifier: BSD-2-Clause
// What a software RoCE device need not have. Where it is not there, the verb says EOPNOTSUPP, and
// the capabilities agree; where it is, these tests have nothing to say.
#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Unsupported : Conformance {
  /// Either the object is there, or errno is what the man page says.
  template <typename T>
  void expect_refused(T* object, const char* what) {
    if (!need_if_any(object == nullptr, std::string("the absence of ") + what)) return;
    EXPECT_TRUE(is_unsupported(errno)) << what << ": " << std::strerror(errno);
  }
};

TEST_F(Unsupported, FlowSteering) {
  checks("ibv_create_flow(3)");
  const Endpoint endpoint(device_, QpConfig{});
  ibv_flow_attr attr{};
  attr.type = IBV_FLOW_ATTR_NORMAL;
  attr.size = sizeof attr;
  attr.port = device_.port;
  errno = 0;
  ibv_flow* flow = ibv_create_flow(endpoint.qp.get(), &attr);
  const int why = errno;
  if (flow != nullptr) {
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
  }
  errno = why;
  expect_refused(flow, "flow steering");
  EXPECT_TRUE(flow != nullptr || !device_.offers(IBV_DEVICE_MANAGED_FLOW_STEERING));
}

TEST_F(Unsupported, FlowActions) {
  checks("ibv_create_flow_action_esp(3)");
  ibv_flow_action_esp_attr attr{};
  errno = 0;
  ibv_flow_action* action = ibv_create_flow_action_esp(context(), &attr);
  const int why = errno;
  if (action != nullptr) {
    EXPECT_EQ(ibv_destroy_flow_action(action), 0);
  }
  if (why == EINVAL) return;  // there, but these attributes are nothing
  errno = why;
  expect_refused(action, "flow actions");
}

TEST_F(Unsupported, WorkQueues) {
  checks("ibv_create_wq(3)");
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = 4;
  attr.max_sge = 1;
  attr.pd = pd.get();
  attr.cq = cq.get();
  errno = 0;
  ibv_wq* wq = ibv_create_wq(context(), &attr);
  const int why = errno;
  if (wq != nullptr) {
    EXPECT_EQ(ibv_destroy_wq(wq), 0);
  }
  errno = why;
  expect_refused(wq, "work queues");
  EXPECT_TRUE(wq != nullptr || device_.attr.max_wq_type_rq == 0);
}

TEST_F(Unsupported, IndirectionTables) {
  checks("ibv_create_rwq_ind_table(3)");
  if (!need_if_any(device_.attr.rss_caps.max_rwq_indirection_tables == 0, "the absence of RSS"))
    return;
  ibv_rwq_ind_table_init_attr attr{};
  errno = 0;
  EXPECT_EQ(ibv_create_rwq_ind_table(context(), &attr), nullptr);
  EXPECT_TRUE(is_unsupported(errno)) << std::strerror(errno);
}

TEST_F(Unsupported, Counters) {
  checks("ibv_create_counters(3)");
  ibv_counters_init_attr attr{};
  errno = 0;
  ibv_counters* counters = ibv_create_counters(context(), &attr);
  const int why = errno;
  if (counters != nullptr) {
    EXPECT_EQ(ibv_destroy_counters(counters), 0);
  }
  errno = why;
  expect_refused(counters, "counters");
}

TEST_F(Unsupported, RawPacketQueuePairs) {
  checks("ibv_create_qp(3): IBV_QPT_RAW_PACKET");
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  QpConfig config;
  config.type = IBV_QPT_RAW_PACKET;
  errno = 0;
  const QpPtr qp(Endpoint::create(device_, config, pd.get(), cq.get(), cq.get()));
  const int why = errno;
  if (why == EPERM) return;  // there, but not for us
  errno = why;
  expect_refused(qp.get(), "raw packet queue pairs");
}

TEST_F(Unsupported, TagMatching) {
  checks("ibv_create_srq_ex(3): IBV_SRQT_TM");
  if (!need_if_any(device_.attr.tm_caps.max_num_tags == 0, "the absence of tag matching")) return;
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_srq_init_attr_ex init{};
  init.attr = {16, 1, 0};
  init.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.srq_type = IBV_SRQT_TM;
  init.pd = pd.get();
  init.cq = cq.get();
  init.tm_cap = {4, 4};
  errno = 0;
  EXPECT_EQ(SrqPtr(ibv_create_srq_ex(context(), &init)), nullptr);
  EXPECT_TRUE(is_unsupported(errno) || errno == EINVAL) << std::strerror(errno);
}

TEST_F(Unsupported, DmaBufOfNothing) {
  checks("ibv_reg_mr(3): ibv_reg_dmabuf_mr() with fd -1: applications ask so whether it is there");
  const PdPtr pd = alloc_pd();
  errno = 0;
  EXPECT_EQ(MrPtr(ibv_reg_dmabuf_mr(pd.get(), 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE)), nullptr);
  EXPECT_TRUE(is_unsupported(errno) || errno == EPROTONOSUPPORT || errno == EBADF)
      << std::strerror(errno);
}

TEST_F(Unsupported, SegmentationOffload) {
  checks("ibv_query_device_ex(3): tso_caps; ibv_create_qp_ex(3): IBV_QP_EX_WITH_TSO");
  if (!need_if_any(device_.attr.tso_caps.max_tso == 0, "the absence of TSO")) return;
  EXPECT_EQ(device_.attr.tso_caps.supported_qpts, 0U);
}

}  // namespace
}  // namespace conformance
