// SPDX-License-Identifier: BSD-2-Clause
// ibv_rereg_mr in every combination of its flags.
#include <array>

#include "tests/conformance/support/fixture.h"

namespace conformance::mr_rereg_test {
namespace {

constexpr uint32_t kSize = 256;
constexpr int kFlagCombinations = 8;

struct MrRereg : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    connect_pair();
    if (stopped()) return;
    source_ = std::make_unique<Buffer>(left_->pd, kSize);
    source_->fill_pattern();
    mr_.reset(ibv_reg_mr(right_->pd, first_.data(), first_.size(), kAllAccess));
    ASSERT_NE(mr_, nullptr);
    // Nothing changes here, but it shows whether there is such a verb.
    errno = 0;
    const int result = rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, kAllAccess);
    need(result == 0 || !is_unsupported(errno), "ibv_rereg_mr");
  }
  void TearDown() override {
    source_.reset();
    mr_.reset();
    Conformance::TearDown();
  }
  int rereg(int flags, ibv_pd* pd, std::array<uint8_t, kSize>* memory, int access) {
    return ibv_rereg_mr(mr_.get(), flags, pd, memory != nullptr ? memory->data() : nullptr,
                        memory != nullptr ? memory->size() : 0, access);
  }
  ibv_wc_status write(const std::array<uint8_t, kSize>& to) {
    Send write(1, IBV_WR_RDMA_WRITE);
    write.data(source_->sge(0, 8)).remote(reinterpret_cast<uint64_t>(to.data()), mr_->rkey);
    EXPECT_EQ(write.post(left_qp()), 0);
    return next_completion(left_done()).status;
  }

  std::array<uint8_t, kSize> first_{};
  std::array<uint8_t, kSize> second_{};
  std::unique_ptr<Buffer> source_;
  MrPtr mr_;
};

TEST_F(MrRereg, NewAccessTakesRights) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_ACCESS");
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, IBV_ACCESS_LOCAL_WRITE), 0);
  EXPECT_EQ(write(first_), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(first_[1], 0);
}

TEST_F(MrRereg, NewAccessGivesRights) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_ACCESS");
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0), 0);
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, kAllAccess), 0);
  EXPECT_EQ(write(first_), IBV_WC_SUCCESS);
}

TEST_F(MrRereg, NewTranslation) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_TRANSLATION");
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, &second_, 0), 0);
  EXPECT_EQ(mr_->addr, second_.data());
  EXPECT_EQ(write(second_), IBV_WC_SUCCESS);
  EXPECT_EQ(second_[1], source_->bytes[1]);
  EXPECT_EQ(write(first_), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(first_[1], 0);
}

TEST_F(MrRereg, NewProtectionDomain) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_PD");
  const PdPtr other = alloc_pd();
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0), 0);
  EXPECT_EQ(mr_->pd, other.get());
  EXPECT_EQ(write(first_), IBV_WC_REM_ACCESS_ERR);
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, right_->pd, nullptr, 0), 0);
}

TEST_F(MrRereg, ThereAndBack) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_PD");
  const PdPtr other = alloc_pd();
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, other.get(), nullptr, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(other.get()), EBUSY);
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, right_->pd, nullptr, 0), 0);
  EXPECT_EQ(write(first_), IBV_WC_SUCCESS);
}

TEST_F(MrRereg, EveryCombination) {
  checks("ibv_rereg_mr(3): the flags together");
  const PdPtr elsewhere = alloc_pd();
  for (int flags = 1; flags < kFlagCombinations; ++flags) {
    SCOPED_TRACE(flags);
    // Into another domain, without rights, with other memory: what the flags name.
    ASSERT_EQ(rereg(flags, elsewhere.get(), &second_, 0), 0);
    EXPECT_EQ(mr_->pd, (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? elsewhere.get() : right_->pd);
    EXPECT_EQ(mr_->addr, (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0
                             ? static_cast<void*>(second_.data())
                             : static_cast<void*>(first_.data()));
    // And all of it back.
    const bool access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
    ASSERT_EQ(rereg(flags, right_->pd, &first_, access ? int{kAllAccess} : 0), 0);
    first_.fill(0);
    ASSERT_EQ(write(first_), IBV_WC_SUCCESS);
    EXPECT_EQ(first_[1], source_->bytes[1]);
  }
}

TEST_F(MrRereg, NothingToChangeIsInvalid) {
  checks("ibv_rereg_mr(3): flags");
  EXPECT_NE(rereg(0, nullptr, nullptr, 0), 0);
}

TEST_F(MrRereg, UnknownFlagIsInvalid) {
  checks("ibv_rereg_mr(3): flags");
  EXPECT_EQ(rereg(1 << 5, nullptr, nullptr, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(write(first_), IBV_WC_SUCCESS) << "the region is as it was";
}

TEST_F(MrRereg, TranslationNeedsMemory) {
  checks("ibv_rereg_mr(3): addr, length with IBV_REREG_MR_CHANGE_TRANSLATION");
  EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, nullptr, 0), IBV_REREG_MR_ERR_INPUT);
  EXPECT_EQ(write(first_), IBV_WC_SUCCESS) << "the region is as it was";
}

TEST_F(MrRereg, ImpossibleAccessIsRefused) {
  checks("ibv_rereg_mr(3), ibv_reg_mr(3): REMOTE_WRITE needs LOCAL_WRITE");
  EXPECT_NE(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, IBV_ACCESS_REMOTE_WRITE), 0);
}

}  // namespace
}  // namespace conformance::mr_rereg_test
