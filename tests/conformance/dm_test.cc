// SPDX-License-Identifier: BSD-2-Clause
// Device memory.
#include <array>

#include "tests/conformance/support/fixture.h"

namespace conformance::dm_test {
namespace {

constexpr size_t kSize = 4096;

struct Dm : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    if (!need(device_.attr.max_dm_size > 0, "device memory")) return;
    dm_ = alloc(kSize);
    ASSERT_NE(dm_, nullptr) << std::strerror(errno);
  }
  void TearDown() override {
    dm_.reset();
    Conformance::TearDown();
  }
  DmPtr alloc(size_t length, uint32_t log_align = 0) {
    ibv_alloc_dm_attr attr{};
    attr.length = length;
    attr.log_align_req = log_align;
    errno = 0;
    return DmPtr(ibv_alloc_dm(context(), &attr));
  }
  int put(uint64_t offset, const std::vector<uint8_t>& bytes) {
    return ibv_memcpy_to_dm(dm_.get(), offset, bytes.data(), bytes.size());
  }
  std::vector<uint8_t> get(uint64_t offset, size_t length) {
    std::vector<uint8_t> bytes(length);
    EXPECT_EQ(ibv_memcpy_from_dm(bytes.data(), dm_.get(), offset, length), 0);
    return bytes;
  }

  DmPtr dm_;
};

TEST_F(Dm, CopyThereAndBack) {
  checks("ibv_alloc_dm(3): ibv_memcpy_to_dm(), ibv_memcpy_from_dm()");
  const std::vector<uint8_t> bytes{1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(put(0, bytes), 0);
  ASSERT_EQ(put(kSize - 8, bytes), 0);
  EXPECT_EQ(get(0, 8), bytes);
  EXPECT_EQ(get(kSize - 8, 8), bytes);
}

TEST_F(Dm, OutOfItsBounds) {
  checks("ibv_alloc_dm(3): dm_offset, length");
  std::array<uint8_t, 16> bytes{};
  EXPECT_NE(ibv_memcpy_to_dm(dm_.get(), kSize - 8, bytes.data(), 16), 0);
  EXPECT_NE(ibv_memcpy_from_dm(bytes.data(), dm_.get(), kSize - 8, 16), 0);
  EXPECT_NE(ibv_memcpy_to_dm(dm_.get(), UINT64_MAX - 7, bytes.data(), 16), 0);
}

TEST_F(Dm, TooMuch) {
  checks("ibv_alloc_dm(3); ibv_query_device_ex(3): max_dm_size");
  EXPECT_EQ(alloc(device_.attr.max_dm_size + 1), nullptr);
  EXPECT_TRUE(errno == ENOMEM || errno == EINVAL) << errno;
}

TEST_F(Dm, Aligned) {
  checks("ibv_alloc_dm(3): log_align_req");
  EXPECT_NE(alloc(64, 6), nullptr);
}

TEST_F(Dm, UnknownMask) {
  checks("ibv_alloc_dm(3): comp_mask");
  ibv_alloc_dm_attr attr{};
  attr.length = 64;
  attr.comp_mask = 1U << 30;
  EXPECT_EQ(DmPtr(ibv_alloc_dm(context(), &attr)), nullptr);
}

TEST_F(Dm, RemoteAccess) {
  checks("ibv_alloc_dm(3): ibv_reg_dm_mr(): zero based");
  connect_pair();
  if (stopped()) return;
  const MrPtr mr(
      ibv_reg_dm_mr(right_->pd, dm_.get(), 1024, 1024, kAllAccess | IBV_ACCESS_ZERO_BASED));
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  Buffer local(left_->pd, 256);
  local.fill_pattern();
  Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(local.sge(0, 128)).remote(16, mr->rkey).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  const std::vector<uint8_t> found = get(1024 + 16, 128);
  EXPECT_EQ(std::memcmp(found.data(), local.bytes.data(), 128), 0);
  Send read(2, IBV_WR_RDMA_READ);
  ASSERT_EQ(read.data(local.sge(128, 128)).remote(16, mr->rkey).post(left_qp()), 0);
  expect_completion(left_done(), 2);
  EXPECT_EQ(std::memcmp(&local.bytes[128], found.data(), 128), 0);
  ASSERT_EQ(put(1024 + 512, std::vector<uint8_t>(8, 0)), 0);
  Send add(3, IBV_WR_ATOMIC_FETCH_AND_ADD);
  ASSERT_EQ(add.data(local.sge(0, 8)).atomic(512, mr->rkey, 3).post(left_qp()), 0);
  expect_completion(left_done(), 3);
  EXPECT_EQ(get(1024 + 512, 1)[0], 3);
}

TEST_F(Dm, RegionEndsWhereItWasAskedTo) {
  checks("ibv_alloc_dm(3): ibv_reg_dm_mr(): dm_offset, length");
  connect_pair();
  if (stopped()) return;
  const MrPtr mr(
      ibv_reg_dm_mr(right_->pd, dm_.get(), 1024, 1024, kAllAccess | IBV_ACCESS_ZERO_BASED));
  ASSERT_NE(mr, nullptr);
  Buffer local(left_->pd, 256);
  Send write(1, IBV_WR_RDMA_WRITE);
  ASSERT_EQ(write.data(local.sge(0, 8)).remote(1017, mr->rkey).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Dm, LocalAccess) {
  checks("ibv_alloc_dm(3): ibv_reg_dm_mr(): lkey");
  connect_pair();
  if (stopped()) return;
  const MrPtr mr(ibv_reg_dm_mr(left_->pd, dm_.get(), 0, kSize, kAllAccess | IBV_ACCESS_ZERO_BASED));
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(put(100, {9, 8, 7, 6}), 0);
  Buffer inbox(right_->pd, 64);
  ASSERT_EQ(Recv(2).data(inbox.sge()).post(right_qp()), 0);
  ASSERT_EQ(Send(1).data({100, 4, mr->lkey}).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
  EXPECT_EQ(inbox.bytes[0], 9);
  EXPECT_EQ(inbox.bytes[3], 6);
}

TEST_F(Dm, RegionOutOfItsBounds) {
  checks("ibv_alloc_dm(3): ibv_reg_dm_mr(): dm_offset, length");
  const PdPtr pd = alloc_pd();
  EXPECT_EQ(MrPtr(ibv_reg_dm_mr(pd.get(), dm_.get(), 1, kSize, kAllAccess | IBV_ACCESS_ZERO_BASED)),
            nullptr);
}

TEST_F(Dm, RegionMustBeZeroBased) {
  checks("ibv_alloc_dm(3): ibv_reg_dm_mr(): IBV_ACCESS_ZERO_BASED is mandatory");
  const PdPtr pd = alloc_pd();
  errno = 0;
  EXPECT_EQ(MrPtr(ibv_reg_dm_mr(pd.get(), dm_.get(), 0, kSize, kAllAccess)), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Dm, BusyWithARegion) {
  checks("ibv_alloc_dm(3): ibv_free_dm() fails while a region is registered");
  const PdPtr pd = alloc_pd();
  const MrPtr mr(ibv_reg_dm_mr(pd.get(), dm_.get(), 0, kSize, kAllAccess | IBV_ACCESS_ZERO_BASED));
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm_.get()), EBUSY);
}

}  // namespace
}  // namespace conformance::dm_test
