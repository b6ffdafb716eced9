// SPDX-License-Identifier: BSD-2-Clause
// FLUSH: ibv_wr_flush() of rdma-core 45 and later, which the headers here may not have.
#include <cstring>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

constexpr uint64_t kWithFlush = 1 << 11;             // IBV_QP_EX_WITH_FLUSH
constexpr unsigned kAccessFlushGlobal = 1 << 8;      // IBV_ACCESS_FLUSH_GLOBAL
constexpr unsigned kAccessFlushPersistent = 1 << 9;  // IBV_ACCESS_FLUSH_PERSISTENT
constexpr uint64_t kDeviceFlushGlobal = 1ULL << 38;  // IB_UVERBS_DEVICE_FLUSH_GLOBAL
constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
constexpr uint8_t kGlobal = 1;      // IBV_FLUSH_GLOBAL
constexpr uint8_t kPersistent = 2;  // IBV_FLUSH_PERSISTENT
constexpr uint8_t kRange = 0;       // IBV_FLUSH_RANGE
constexpr uint8_t kRegion = 1;      // IBV_FLUSH_MR

constexpr uint32_t kFlushedBytes = 4096;

/// The inline function of the header.
void wr_flush(ibv_qp_ex* qp, uint32_t rkey, uint64_t address, size_t length, uint8_t type,
              uint8_t level) {
  constexpr size_t kOffset = 352;  // of ibv_qp_ex.wr_flush
  void (*flush)(ibv_qp_ex*, uint32_t, uint64_t, size_t, uint8_t, uint8_t) = nullptr;
  std::memcpy(&flush, reinterpret_cast<const char*>(qp) + kOffset, sizeof flush);
  flush(qp, rkey, address, length, type, level);
}

struct Flush : PairConformance {
  /// Two queue pairs, and memory of the right one that grants `access` besides WRITEs.
  void start(unsigned access = kAccessFlushGlobal, unsigned qp_access = kAccessFlushGlobal) {
    const bool offered = (device_.attr.device_cap_flags_ex & kDeviceFlushGlobal) != 0;
    if (!need_if_any(offered && can_build(), "ibv_wr_flush, and a library that has it")) return;
    QpConfig left;
    left.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | kWithFlush;
    QpConfig right;
    right.access |= qp_access;
    connect_pair(left, right);
    if (stopped()) return;
    ex_ = ibv_qp_to_qp_ex(left_qp());
    ASSERT_NE(ex_, nullptr);
    local_ = std::make_unique<Buffer>(left_->pd, kFlushedBytes);
    remote_ = std::make_unique<Buffer>(right_->pd, kFlushedBytes, kAllAccess | access);
    local_->fill_pattern();
  }
  bool can_build() {
    const PdPtr pd = alloc_pd();
    const CqPtr cq = create_cq();
    ibv_qp_init_attr_ex init{};
    init.send_cq = init.recv_cq = cq.get();
    init.cap = {1, 1, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.pd = pd.get();
    init.send_ops_flags = kWithFlush;
    const QpPtr probe(ibv_create_qp_ex(context(), &init));
    return probe != nullptr;
  }
  void TearDown() override {
    local_.reset();
    remote_.reset();
    Conformance::TearDown();
  }
  void next(uint64_t id) {
    ex_->wr_id = id;
    ex_->wr_flags = IBV_SEND_SIGNALED;
  }
  void flush(uint64_t id, uint8_t type, uint8_t level, size_t length = kFlushedBytes) {
    next(id);
    wr_flush(ex_, remote_->rkey(), remote_->address(), length, type, level);
  }
  int flush_alone(uint8_t type, uint8_t level, size_t length = kFlushedBytes) {
    ibv_wr_start(ex_);
    flush(1, type, level, length);
    return ibv_wr_complete(ex_);
  }

  ibv_qp_ex* ex_ = nullptr;
  std::unique_ptr<Buffer> local_, remote_;
};

TEST_F(Flush, CompletesAfterTheWritesBeforeIt) {
  checks("ibv_wr_post(3): ibv_wr_flush");
  start();
  if (stopped()) return;
  for (const uint8_t level : {kRange, kRegion}) {
    remote_->bytes.assign(remote_->bytes.size(), 0);
    ibv_wr_start(ex_);
    next(1);
    ex_->wr_flags = 0;
    ibv_wr_rdma_write(ex_, remote_->rkey(), remote_->address());
    ibv_wr_set_sge(ex_, local_->mr->lkey, local_->address(), 3000);
    flush(2, kGlobal, level);
    ASSERT_EQ(ibv_wr_complete(ex_), 0);
    expect_completion(left_done(), 1);
    EXPECT_EQ(expect_completion(left_done(), 2).opcode, kWcFlush);
    EXPECT_EQ(std::memcmp(local_->bytes.data(), remote_->bytes.data(), 3000), 0);
  }
}

TEST_F(Flush, OfMemoryOnDemand) {
  checks("ibv_query_device_ex(3): IBV_ODP_SUPPORT_FLUSH");
  constexpr uint32_t kOffered = 1 << 6;
  const bool offered = (device_.attr.odp_caps.per_transport_caps.rc_odp_caps & kOffered) != 0;
  if (!need_if_any(offered, "FLUSH of memory on demand")) return;
  start(kAccessFlushGlobal | IBV_ACCESS_ON_DEMAND);
  if (stopped()) return;
  ASSERT_EQ(flush_alone(kGlobal, kRegion), 0);
  EXPECT_EQ(expect_completion(left_done(), 1).opcode, kWcFlush);
}

TEST_F(Flush, OfARegionWithoutTheRightIsAnAccessError) {
  checks("ibv_reg_mr(3): IBV_ACCESS_FLUSH_GLOBAL");
  start(0);
  if (stopped()) return;
  ASSERT_EQ(flush_alone(kGlobal, kRange), 0);
  EXPECT_EQ(next_completion(left_done()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Flush, BeyondTheRegionIsAnAccessError) {
  checks("ibv_wr_post(3): ibv_wr_flush; annex A19");
  start();
  if (stopped()) return;
  ASSERT_EQ(flush_alone(kGlobal, kRange, kFlushedBytes + 1), 0);
  EXPECT_EQ(next_completion(left_done()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Flush, ThatTheQueuePairDoesNotTake) {
  checks("ibv_modify_qp(3): qp_access_flags");
  start(kAccessFlushGlobal, 0);
  if (stopped()) return;
  ASSERT_EQ(flush_alone(kGlobal, kRange), 0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_INV_REQ_ERR || wc.status == IBV_WC_REM_ACCESS_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Flush, OfMemoryThatIsNotPersistentIsAnAccessError) {
  checks("ibv_reg_mr(3): IBV_ACCESS_FLUSH_PERSISTENT");
  start(kAccessFlushGlobal, kAccessFlushGlobal | kAccessFlushPersistent);
  if (stopped()) return;
  ASSERT_EQ(flush_alone(kGlobal | kPersistent, kRegion), 0);
  EXPECT_EQ(next_completion(left_done()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Flush, TakesNoData) {
  checks("ibv_wr_post(3): ibv_wr_flush has no local buffer");
  start();
  if (stopped()) return;
  ibv_wr_start(ex_);
  flush(1, kGlobal, kRange);
  ibv_wr_set_sge(ex_, local_->mr->lkey, local_->address(), 8);
  EXPECT_EQ(ibv_wr_complete(ex_), EINVAL);
}

TEST_F(Flush, ReservedValuesAreRefusedOrFail) {
  checks("ibv_wr_post(3): enum ibv_placement_type, enum ibv_selectivity_level");
  start();
  if (stopped()) return;
  if (flush_alone(0, kRange) != 0) {
    EXPECT_EQ(flush_alone(kGlobal, 2), EINVAL);
    return;
  }
  next_completion(left_done());
}

TEST_F(Flush, NeedsAQueuePairMadeForIt) {
  checks("ibv_create_qp_ex(3): send_ops_flags");
  start();
  if (stopped()) return;
  local_.reset();
  remote_.reset();
  QpConfig plain;
  plain.send_ops = IBV_QP_EX_WITH_RDMA_WRITE;
  connect_pair(plain, {});
  if (stopped()) return;
  remote_ = std::make_unique<Buffer>(right_->pd, kFlushedBytes);
  ex_ = ibv_qp_to_qp_ex(left_qp());
  EXPECT_NE(flush_alone(kGlobal, kRange), 0);
}

}  // namespace
}  // namespace conformance
