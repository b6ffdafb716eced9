// SPDX-License-Identifier: BSD-2-Clause
// What a device need not have: it either works elsewhere or answers EOPNOTSUPP, and never anything
// in between.
#include <functional>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

struct Unsupported : PairConformance {
  /// A verb that returns a pointer: null with EOPNOTSUPP where the device does not have it.
  void expect_refused(const void* object, const char* verb) {
    const int why = errno;
    if (object != nullptr) GTEST_SKIP() << "the device has " << verb;
    EXPECT_EQ(why, EOPNOTSUPP) << verb << ": " << std::strerror(why);
  }
  ibv_qp* make_qp_ex(ibv_qp_init_attr_ex& init) {
    pd_ = alloc_pd();
    cq_ = create_cq();
    init.pd = pd_.get();
    init.send_cq = init.recv_cq = cq_.get();
    init.cap = {4, 4, 1, 1, 0};
    init.comp_mask |= IBV_QP_INIT_ATTR_PD;
    errno = 0;
    return ibv_create_qp_ex(context(), &init);
  }

  PdPtr pd_;
  CqPtr cq_;
};

TEST_F(Unsupported, FlowSteeringOnAReliableConnection) {
  checks("ibv_create_flow(3): for RAW_PACKET and UD queue pairs");
  connect_pair();
  if (stopped()) return;
  ibv_flow_attr attr{};
  attr.type = IBV_FLOW_ATTR_NORMAL;
  attr.size = sizeof attr;
  attr.port = device_.port;
  errno = 0;
  ibv_flow* flow = ibv_create_flow(left_qp(), &attr);
  EXPECT_EQ(flow, nullptr);
  EXPECT_TRUE(errno == EOPNOTSUPP || errno == EINVAL) << std::strerror(errno);
}

TEST_F(Unsupported, WorkQueues) {
  checks("ibv_create_wq(3)");
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_wq_init_attr init{};
  init.wq_type = IBV_WQT_RQ;
  init.max_wr = 4;
  init.max_sge = 1;
  init.pd = pd.get();
  init.cq = cq.get();
  errno = 0;
  ibv_wq* wq = ibv_create_wq(context(), &init);
  const int why = errno;
  if (wq != nullptr) {
    EXPECT_EQ(ibv_destroy_wq(wq), 0);
    GTEST_SKIP() << "the device has work queues";
  }
  EXPECT_EQ(why, EOPNOTSUPP) << std::strerror(why);
}

TEST_F(Unsupported, ReceiveWorkQueueTables) {
  checks("ibv_create_rwq_ind_table(3)");
  if (device_.attr.rss_caps.max_rwq_indirection_tables != 0) GTEST_SKIP() << "the device has RSS";
  ibv_rwq_ind_table_init_attr init{};
  errno = 0;
  ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(context(), &init);
  expect_refused(table, "receive work queue tables");
}

TEST_F(Unsupported, Counters) {
  checks("ibv_create_counters(3)");
  ibv_counters_init_attr init{};
  errno = 0;
  ibv_counters* counters = ibv_create_counters(context(), &init);
  const int why = errno;
  if (counters != nullptr) {
    EXPECT_EQ(ibv_destroy_counters(counters), 0);
    GTEST_SKIP() << "the device has counter objects";
  }
  EXPECT_EQ(why, EOPNOTSUPP) << std::strerror(why);
}

TEST_F(Unsupported, FlowActions) {
  checks("ibv_create_flow_action_esp(3)");
  ibv_flow_action_esp_attr attr{};
  errno = 0;
  expect_refused(ibv_create_flow_action_esp(context(), &attr), "flow actions");
}

TEST_F(Unsupported, TagMatching) {
  checks("ibv_create_srq_ex(3): IBV_SRQT_TM");
  if (device_.attr.tm_caps.max_num_tags != 0) GTEST_SKIP() << "the device matches tags";
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_srq_init_attr_ex init{};
  init.attr.max_wr = 4;
  init.attr.max_sge = 1;
  init.comp_mask =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM;
  init.srq_type = IBV_SRQT_TM;
  init.pd = pd.get();
  init.cq = cq.get();
  init.tm_cap.max_num_tags = 4;
  init.tm_cap.max_ops = 4;
  errno = 0;
  expect_refused(ibv_create_srq_ex(context(), &init), "tag matching");
}

TEST_F(Unsupported, RawPackets) {
  checks("ibv_create_qp(3): IBV_QPT_RAW_PACKET");
  if (device_.attr.raw_packet_caps != 0) GTEST_SKIP() << "the device has raw packet queue pairs";
  const PdPtr pd = alloc_pd();
  const CqPtr cq = create_cq();
  ibv_qp_init_attr init{};
  init.qp_type = IBV_QPT_RAW_PACKET;
  init.send_cq = init.recv_cq = cq.get();
  init.cap = {4, 4, 1, 1, 0};
  errno = 0;
  ibv_qp* qp = ibv_create_qp(pd.get(), &init);
  const int why = errno;
  EXPECT_EQ(qp, nullptr);
  EXPECT_TRUE(why == EOPNOTSUPP || why == EPERM) << std::strerror(why);
}

TEST_F(Unsupported, SegmentationOffload) {
  checks("ibv_create_qp_ex(3): max_tso_header");
  if (device_.attr.tso_caps.max_tso != 0) GTEST_SKIP() << "the device segments";
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_UD;
  init.comp_mask = IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
  init.max_tso_header = 64;
  ibv_qp* qp = make_qp_ex(init);
  const int why = errno;
  EXPECT_EQ(qp, nullptr);
  EXPECT_TRUE(why == EOPNOTSUPP || why == EINVAL) << std::strerror(why);
}

TEST_F(Unsupported, ReceiveSideScaling) {
  checks("ibv_create_qp_ex(3): rx_hash_conf");
  if (device_.attr.rss_caps.supported_qpts != 0) GTEST_SKIP() << "the device has RSS";
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_UD;
  init.comp_mask = IBV_QP_INIT_ATTR_RX_HASH;
  ibv_qp* qp = make_qp_ex(init);
  const int why = errno;
  EXPECT_EQ(qp, nullptr);
  EXPECT_TRUE(why == EOPNOTSUPP || why == EINVAL) << std::strerror(why);
}

TEST_F(Unsupported, ImportedObjects) {
  checks("ibv_import_pd(3), ibv_import_mr(3)");
  errno = 0;
  ibv_pd* pd = ibv_import_pd(context(), 0x7fffffff);
  EXPECT_EQ(pd, nullptr);
  EXPECT_NE(errno, 0);
}

TEST_F(Unsupported, DmaBufWithoutADescriptor) {
  checks("ibv_reg_dmabuf_mr(3)");
  const PdPtr pd = alloc_pd();
  errno = 0;
  ibv_mr* mr = ibv_reg_dmabuf_mr(pd.get(), 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
  const int why = errno;
  EXPECT_EQ(mr, nullptr);
  // Programs probe with -1: EBADF says that the device could, the others that it cannot.
  EXPECT_TRUE(why == EOPNOTSUPP || why == EPROTONOSUPPORT || why == EBADF) << std::strerror(why);
}

TEST_F(Unsupported, CapabilitiesSayWhatIsNotThere) {
  checks("ibv_query_device_ex(3)");
  const ibv_device_attr_ex& attr = device_.attr;
  const bool raw = attr.raw_packet_caps != 0;
  EXPECT_TRUE(raw || attr.tso_caps.max_tso == 0);
  EXPECT_TRUE(raw || attr.rss_caps.max_rwq_indirection_tables == 0);
  EXPECT_TRUE(raw || attr.max_wq_type_rq == 0);
}

}  // namespace
}  // namespace conformance
