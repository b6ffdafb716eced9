// SPDX-License-Identifier: BSD-2-Clause
// On-demand paging, null regions and device memory in use.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "pair.h"
#include "tests/support/own_addresses.h"

namespace rc_errors {
namespace {

constexpr size_t kPage = 65536;  // some pages, on any machine
constexpr int kOnDemand = kAllAccess | IBV_ACCESS_ON_DEMAND;

class OnDemand : public PairTest {
 protected:
  void SetUp() override {
    PairTest::SetUp();
    connect();
    own_ = std::make_unique<Memory>(left_->pd.get(), 2 * kPage);
    pages_ = static_cast<uint8_t*>(urxe::test::map_at_own_addresses(4 * kPage, PROT_NONE));
    ASSERT_NE(pages_, MAP_FAILED);
  }
  void TearDown() override { ::munmap(pages_, 4 * kPage); }

  void map_page(size_t index) {
    ASSERT_NE(::mmap(pages_ + index * kPage, kPage, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
              MAP_FAILED);
  }
  [[nodiscard]] uint64_t address(size_t page) const {
    return reinterpret_cast<uint64_t>(pages_ + page * kPage);
  }
  ibv_wc_status carry_out(ibv_wr_opcode opcode, uint32_t length, uint64_t remote, uint32_t rkey) {
    const int posted =
        opcode == IBV_WR_ATOMIC_FETCH_AND_ADD
            ? post_atomic(left_->qp.get(), 1, opcode, own_->sge(length), remote, rkey)
            : post_rdma(left_->qp.get(), 1, opcode, own_->sge(length), remote, rkey);
    EXPECT_EQ(posted, 0);
    return next_completion(left_->cq.get()).status;
  }

  std::unique_ptr<Memory> own_;
  uint8_t* pages_ = nullptr;
};

/// All kinds of requests on memory that was mapped after the registration; refused on what is not.
void expect_all_kinds(uint8_t* at,
                      const std::function<ibv_wc_status(ibv_wr_opcode, uint32_t)>& on) {
  std::memset(at, 0, 8);
  EXPECT_EQ(on(IBV_WR_ATOMIC_FETCH_AND_ADD, 8), IBV_WC_SUCCESS);
  EXPECT_EQ(at[0], 1);
  EXPECT_EQ(on(IBV_WR_RDMA_WRITE, 4096), IBV_WC_SUCCESS);
  EXPECT_EQ(on(IBV_WR_RDMA_READ, 4096), IBV_WC_SUCCESS);
}

TEST_F(OnDemand, MappedAfterRegistrationAndUnmappedLater) {
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), pages_, 4 * kPage, kOnDemand));
  ASSERT_NE(mr, nullptr) << strerror(errno);
  map_page(1);
  expect_all_kinds(pages_ + kPage, [&](ibv_wr_opcode opcode, uint32_t length) {
    return carry_out(opcode, length, address(1), mr->rkey);
  });
  std::memset(own_->bytes.data(), 0x33, kPage);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, kPage, address(1), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(pages_[2 * kPage - 1], 0x33);
  ::munmap(pages_ + kPage, kPage);
  map_page(1);  // other memory
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, kPage, address(1), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(own_->bytes[0], 0);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_WRITE, 8, address(2), mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemand, WholeAddressSpace) {
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), nullptr, SIZE_MAX, kOnDemand));
  ASSERT_NE(mr, nullptr) << strerror(errno);
  map_page(0);
  expect_all_kinds(pages_, [&](ibv_wr_opcode opcode, uint32_t length) {
    return carry_out(opcode, length, address(0), mr->rkey);
  });
  uint64_t word = 41;
  EXPECT_EQ(carry_out(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, reinterpret_cast<uint64_t>(&word), mr->rkey),
            IBV_WC_SUCCESS);
  EXPECT_EQ(word, 42U);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, 8, 8, mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(OnDemand, AtomicOnWhatCannotBeWritten) {
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), pages_, 4 * kPage, kOnDemand));
  ASSERT_NE(mr, nullptr);
  map_page(0);
  ASSERT_EQ(::mprotect(pages_, kPage, PROT_READ), 0);
  EXPECT_EQ(carry_out(IBV_WR_RDMA_READ, 8, address(0), mr->rkey), IBV_WC_SUCCESS);
  EXPECT_EQ(carry_out(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, address(0), mr->rkey), IBV_WC_REM_ACCESS_ERR);
}

// Expect: what a processor adds meanwhile is not lost, nor what the peer adds.
TEST_F(OnDemand, AtomicsAreAtomicToProcessorsToo) {
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), nullptr, SIZE_MAX, kOnDemand));
  ASSERT_NE(mr, nullptr);
  std::atomic<uint64_t> word{0};
  std::atomic<bool> done{false};
  uint64_t added = 0;
  std::thread adder([&] {
    for (; !done.load(); ++added) word.fetch_add(1);
  });
  constexpr uint64_t kAtomics = 500;
  for (uint64_t i = 0; i < kAtomics; ++i) {
    EXPECT_EQ(
        carry_out(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, reinterpret_cast<uint64_t>(&word), mr->rkey),
        IBV_WC_SUCCESS);
  }
  done.store(true);
  adder.join();
  EXPECT_EQ(word.load(), added + kAtomics);
}

// Threads that unmap memory all the time, other memory, while the peer's atomics go on. Expect:
// they are not refused.
TEST_F(OnDemand, AtomicsBesideThreadsThatUnmap) {
  const MrPtr mr(ibv_reg_mr(right_->pd.get(), pages_, 4 * kPage, kOnDemand));
  ASSERT_NE(mr, nullptr);
  map_page(0);
  std::atomic<bool> done{false};
  std::vector<std::thread> unmappers;
  for (int i = 0; i < 3; ++i) {
    unmappers.emplace_back([&done] {
      while (!done.load()) {
        void* at = ::mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ::munmap(at, kPage);
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(carry_out(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, address(0), mr->rkey), IBV_WC_SUCCESS);
  }
  done.store(true);
  for (std::thread& thread : unmappers) thread.join();
  uint64_t word = 0;
  std::memcpy(&word, pages_, sizeof word);
  EXPECT_EQ(word, 500U);
}

TEST_F(OnDemand, LocalMemory) {
  const MrPtr mr(ibv_reg_mr(left_->pd.get(), pages_, 4 * kPage, kOnDemand));
  ASSERT_NE(mr, nullptr);
  Memory receive(right_->pd.get(), 8192);
  map_page(0);
  std::memset(pages_, 0x44, kPage);
  ASSERT_EQ(post_receive(right_->qp.get(), 1, receive.sge(4096)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 1, {address(0), 4096, mr->lkey}), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  expect_completion(right_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(receive.bytes[4095], 0x44);
  ASSERT_EQ(post_send(left_->qp.get(), 2, {address(1), 64, mr->lkey}), 0);
  expect_completion(left_->cq.get(), 2, IBV_WC_LOC_PROT_ERR);
}

TEST_F(OnDemand, CapabilitiesSaySo) {
  ibv_device_attr_ex attributes{};
  ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &attributes), 0);
  EXPECT_EQ(attributes.odp_caps.general_caps, uint64_t{IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT});
  EXPECT_NE(attributes.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_ATOMIC, 0U);
  EXPECT_GE(attributes.max_dm_size, 1U << 20);
}

TEST_F(OnDemand, Advice) {
  ibv_pd* pd = right_->pd.get();
  const MrPtr mr(ibv_reg_mr(pd, pages_, 4 * kPage, kOnDemand));
  const MrPtr read_only(ibv_reg_mr(pd, pages_, kPage, IBV_ACCESS_ON_DEMAND));
  const MrPtr whole(ibv_reg_mr(pd, nullptr, SIZE_MAX, kOnDemand));
  ASSERT_TRUE(mr && read_only && whole);
  map_page(0);
  const auto advise = [&](ibv_advise_mr_advice advice, uint64_t at, uint32_t length, uint32_t lkey,
                          uint32_t flags = IBV_ADVISE_MR_FLAG_FLUSH) {
    ibv_sge sge{at, length, lkey};
    return ibv_advise_mr(pd, advice, flags, &sge, 1);
  };
  for (const uint32_t flags : {uint32_t{0}, uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}}) {
    for (const uint32_t lkey : {mr->lkey, whole->lkey}) {
      EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(0), kPage, lkey, flags), 0);
      EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, address(0), kPage, lkey, flags), 0);
      EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, address(0), kPage, lkey, flags), 0);
    }
  }
  // ibv_advise_mr(3), RETURN VALUE.
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(1), kPage, mr->lkey), EFAULT);
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(3), 2 * kPage, mr->lkey), EFAULT);
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, address(0), 8, read_only->lkey), EPERM);
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(0), 8, mr->lkey ^ 1), ENOENT);
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(0), 8, own_->mr->lkey), EPERM);
  EXPECT_EQ(advise(IBV_ADVISE_MR_ADVICE_PREFETCH, address(0), 8, mr->lkey, 2), EINVAL);
  EXPECT_EQ(advise(static_cast<ibv_advise_mr_advice>(3), address(0), 8, mr->lkey), ENOTSUP);
  EXPECT_EQ(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, nullptr, 0), EINVAL);
}

using DeviceMemory = PairTest;

TEST_F(DeviceMemory, CopiesAndBounds) {
  ibv_alloc_dm_attr attributes{5000, 16, 0};
  ibv_dm* dm = ibv_alloc_dm(context_.get(), &attributes);
  ASSERT_NE(dm, nullptr) << strerror(errno);
  uint8_t out[16] = {};
  EXPECT_EQ(ibv_memcpy_from_dm(out, dm, 4984, 16), 0);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(ibv_memcpy_to_dm(dm, 4984, "0123456789abcdef", 16), 0);
  EXPECT_EQ(ibv_memcpy_from_dm(out, dm, 4984, 16), 0);
  EXPECT_EQ(std::memcmp(out, "0123456789abcdef", 16), 0);
  EXPECT_NE(ibv_memcpy_to_dm(dm, 4985, out, 16), 0);
  EXPECT_NE(ibv_memcpy_from_dm(out, dm, UINT64_MAX, 16), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

TEST_F(DeviceMemory, WhatCannotBeAllocated) {
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(context_.get(), nullptr, &device), 0);
  for (ibv_alloc_dm_attr attributes :
       {ibv_alloc_dm_attr{0, 0, 0}, ibv_alloc_dm_attr{8, 63, 0}, ibv_alloc_dm_attr{8, 0, 1}}) {
    errno = 0;
    EXPECT_EQ(ibv_alloc_dm(context_.get(), &attributes), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  // All that there is, and one byte more; again after it was freed.
  for (int i = 0; i < 2; ++i) {
    ibv_alloc_dm_attr all{device.max_dm_size, 0, 0};
    ibv_alloc_dm_attr one{1, 0, 0};
    ibv_dm* dm = ibv_alloc_dm(context_.get(), &all);
    ASSERT_NE(dm, nullptr);
    EXPECT_EQ(ibv_alloc_dm(context_.get(), &one), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(ibv_free_dm(dm), 0);
  }
}

TEST_F(DeviceMemory, Registration) {
  connect();
  ibv_alloc_dm_attr attributes{4096, 12, 0};
  ibv_dm* dm = ibv_alloc_dm(context_.get(), &attributes);
  ASSERT_NE(dm, nullptr);
  ibv_pd* pd = right_->pd.get();
  constexpr unsigned kAccess = kAllAccess | IBV_ACCESS_ZERO_BASED;
  struct {
    uint64_t offset;
    size_t length;
    unsigned access;
  } const wrong[] = {{0, 4096, kAllAccess},
                     {0, 4097, kAccess},
                     {4096, 1, kAccess},
                     {UINT64_MAX, 2, kAccess},
                     {0, 8, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE},
                     {0, 8, kAccess | IBV_ACCESS_ON_DEMAND}};
  for (const auto& request : wrong) {
    errno = 0;
    EXPECT_EQ(ibv_reg_dm_mr(pd, dm, request.offset, request.length, request.access), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  ibv_mr* mr = ibv_reg_dm_mr(pd, dm, 1024, 2048, kAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(ibv_free_dm(dm), EBUSY);
  Memory own(left_->pd.get(), 64);
  std::memset(own.bytes.data(), 0x55, 64);
  ASSERT_EQ(post_rdma(left_->qp.get(), 1, IBV_WR_RDMA_WRITE, own.sge(64), 2048 - 64, mr->rkey), 0);
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  uint8_t out[64] = {};
  EXPECT_EQ(ibv_memcpy_from_dm(out, dm, 1024 + 2048 - 64, 64), 0);
  EXPECT_EQ(out[63], 0x55);
  ASSERT_EQ(post_atomic(left_->qp.get(), 2, IBV_WR_ATOMIC_FETCH_AND_ADD, own.sge(8), 0, mr->rkey),
            0);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_memcpy_from_dm(out, dm, 1024, 1), 0);
  EXPECT_EQ(out[0], 1);
  // As a receive buffer: byte offsets from the beginning of the region.
  ASSERT_EQ(post_receive(right_->qp.get(), 3, {8, 64, mr->lkey}), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 3, own.sge(8)), 0);
  expect_completion(right_->cq.get(), 3, IBV_WC_SUCCESS);
  ASSERT_EQ(post_rdma(left_->qp.get(), 4, IBV_WR_RDMA_READ, own.sge(64), 2048 - 63, mr->rkey), 0);
  ibv_wc wc = next_completion(left_->cq.get());
  if (wc.wr_id == 3) wc = next_completion(left_->cq.get());
  EXPECT_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_free_dm(dm), 0);
}

using NullRegion = PairTest;

// ibv_alloc_null_mr(3): reads return 0, writes are discarded; for local use.
TEST_F(NullRegion, ReadsZerosAndDiscards) {
  connect();
  const MrPtr left_null(ibv_alloc_null_mr(left_->pd.get()));
  const MrPtr right_null(ibv_alloc_null_mr(right_->pd.get()));
  ASSERT_TRUE(left_null && right_null);
  Memory receive(right_->pd.get(), 64);
  std::memset(receive.bytes.data(), 0x66, 64);
  ASSERT_EQ(post_receive(right_->qp.get(), 1, receive.sge(64)), 0);
  ASSERT_EQ(post_send(left_->qp.get(), 1, {0x1234, 64, left_null->lkey}), 0);
  expect_completion(right_->cq.get(), 1, IBV_WC_SUCCESS);
  EXPECT_EQ(receive.bytes, std::vector<uint8_t>(64, 0));
  expect_completion(left_->cq.get(), 1, IBV_WC_SUCCESS);
  ASSERT_EQ(post_receive(right_->qp.get(), 2, {0, 1U << 30, right_null->lkey}), 0);
  Memory own(left_->pd.get(), 100000);
  ASSERT_EQ(post_send(left_->qp.get(), 2, own.sge(100000)), 0);
  expect_completion(right_->cq.get(), 2, IBV_WC_SUCCESS);
  expect_completion(left_->cq.get(), 2, IBV_WC_SUCCESS);
  ASSERT_EQ(post_rdma(left_->qp.get(), 3, IBV_WR_RDMA_READ, own.sge(8), 0, right_null->rkey), 0);
  expect_completion(left_->cq.get(), 3, IBV_WC_REM_ACCESS_ERR);
}

}  // namespace
}  // namespace rc_errors
