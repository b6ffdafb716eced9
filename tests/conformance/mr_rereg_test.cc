// SPDX-License-Identifier: BSD-2-Clause
// ibv_rereg_mr in every combination of its flags.
#include <sys/mman.h>

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

TEST_F(MrRereg, ZeroBasedThereAndBack) {
  checks("ibv_rereg_mr(3), ibv_reg_mr(3): IBV_ACCESS_ZERO_BASED");
  constexpr int kZeroBased = kAllAccess | IBV_ACCESS_ZERO_BASED;
  errno = 0;
  const int result = rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, kZeroBased);
  if (!need(result == 0 || !is_unsupported(errno), "zero-based regions")) return;
  ASSERT_EQ(result, 0);
  const auto write_at = [this](uint64_t address) {
    Send write(1, IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.data(source_->sge(0, 8)).remote(address, mr_->rkey).post(left_qp()), 0);
    expect_completion(left_done(), 1);
  };
  write_at(16);
  EXPECT_EQ(first_[17], source_->bytes[1]);
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, &second_, 0), 0);
  write_at(16);
  EXPECT_EQ(second_[17], source_->bytes[1]) << "the access flags are as they were";
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, kAllAccess), 0);
  EXPECT_EQ(write(second_), IBV_WC_SUCCESS) << "by the address again";
  EXPECT_EQ(second_[1], source_->bytes[1]);
}

TEST_F(MrRereg, DomainThatCannotBe) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_PD: a domain of the region's context");
  if (!need_if_any(options().require_all, "a check of the domain")) return;
  const Device second = Device::open();
  const PdPtr foreign(ibv_alloc_pd(second.context.get()));
  for (ibv_pd* const pd : {foreign.get(), static_cast<ibv_pd*>(nullptr)}) {
    EXPECT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, pd, nullptr, 0), IBV_REREG_MR_ERR_CMD);
    EXPECT_EQ(mr_->pd, right_->pd);
  }
  EXPECT_EQ(write(first_), IBV_WC_SUCCESS) << "the region is as it was";
}

TEST_F(MrRereg, MemoryThatIsNotThere) {
  checks("ibv_rereg_mr(3), ibv_reg_mr(3): memory that cannot be registered");
  void* const gone = ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  EXPECT_NE(ibv_rereg_mr(mr_.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, gone, kSize, 0), 0);
  ::munmap(gone, kSize);
}

TEST_F(MrRereg, TheOldDomainIsFree) {
  checks("ibv_rereg_mr(3): IBV_REREG_MR_CHANGE_PD; ibv_dealloc_pd(3)");
  PdPtr old = alloc_pd();
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, old.get(), nullptr, 0), 0);
  ASSERT_EQ(rereg(IBV_REREG_MR_CHANGE_PD, right_->pd, nullptr, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(old.release()), 0);
  PdPtr first = alloc_pd();
  MrPtr mr(ibv_reg_mr(first.get(), second_.data(), second_.size(), kAllAccess));
  ASSERT_NE(mr, nullptr);
  ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_PD, right_->pd, nullptr, 0, 0), 0);
  EXPECT_EQ(ibv_dealloc_pd(first.get()), 0) << "the region has left it";
  (void)first.release();
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
