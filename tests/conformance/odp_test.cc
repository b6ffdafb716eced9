// SPDX-License-Identifier: BSD-2-Clause
// On-demand paging, and memory that is unmapped under a region.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/conformance/support/fixture.h"
#include "tests/support/own_addresses.h"

namespace conformance {
namespace {

constexpr size_t kPages = 4;

/// Memory that can be unmapped. Its addresses are then no other mapping's.
class Mapping {
 public:
  explicit Mapping(size_t pages) : size_(pages * static_cast<size_t>(::getpagesize())) {
    bytes_ = static_cast<uint8_t*>(urxe::test::map_at_own_addresses(size_));
    EXPECT_NE(bytes_, MAP_FAILED);
  }
  ~Mapping() { unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void unmap() {
    if (mapped_) ::munmap(bytes_, size_);
    mapped_ = false;
  }
  void protect(int protection) { EXPECT_EQ(::mprotect(bytes_, size_, protection), 0); }
  uint8_t* bytes() const { return bytes_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_); }
  size_t size() const { return size_; }

 private:
  size_t size_;
  uint8_t* bytes_;
  bool mapped_ = true;
};

struct Odp : PairConformance {
  const ibv_odp_caps& caps() const { return device_.attr.odp_caps; }
  bool need_odp() { return need((caps().general_caps & IBV_ODP_SUPPORT) != 0, "ODP"); }
  bool need_implicit() {
    return need_odp() &&
           need((caps().general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0, "implicit ODP");
  }
  void start() {
    connect_pair();
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, 4096);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    Conformance::TearDown();
  }
  MrPtr reg(ibv_pd* pd, const Mapping& memory, unsigned access) {
    return MrPtr(ibv_reg_mr(pd, memory.bytes(), memory.size(), static_cast<int>(access)));
  }
  MrPtr reg_implicit(ibv_pd* pd) {
    return MrPtr(
        ibv_reg_mr(pd, nullptr, SIZE_MAX, static_cast<int>(kAllAccess | IBV_ACCESS_ON_DEMAND)));
  }
  void write(uint64_t address, uint32_t rkey, ibv_wc_status status) {
    Send write(1, IBV_WR_RDMA_WRITE);
    ASSERT_EQ(write.data(local_->sge(0, 100)).remote(address, rkey).post(left_qp()), 0);
    expect_completion(left_done(), 1, status);
  }

  std::unique_ptr<Buffer> local_;
};

TEST_F(Odp, CapabilitiesAgree) {
  checks("ibv_query_device_ex(3): odp_caps");
  const auto& rc = caps().per_transport_caps.rc_odp_caps;
  const bool any = (caps().general_caps & IBV_ODP_SUPPORT) != 0;
  const bool implicit = (caps().general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0;
  EXPECT_TRUE(any || rc == 0);
  EXPECT_TRUE(any || !implicit);
}

TEST_F(Odp, ExplicitRegion) {
  checks("ibv_reg_mr(3): IBV_ACCESS_ON_DEMAND");
  if (!need_odp()) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  write(memory.address() + 4000, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory.bytes() + 4000, local_->bytes.data(), 100), 0);
}

TEST_F(Odp, PagesMayComeAndGo) {
  checks("ibv_reg_mr(3): IBV_ACCESS_ON_DEMAND: the mapping is looked up anew");
  if (!need_odp()) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  write(memory.address(), mr->rkey, IBV_WC_SUCCESS);
  ASSERT_EQ(::madvise(memory.bytes(), memory.size(), MADV_DONTNEED), 0);
  EXPECT_EQ(memory.bytes()[1], 0) << "a new page";
  write(memory.address(), mr->rkey, IBV_WC_SUCCESS);
  EXPECT_EQ(memory.bytes()[1], local_->bytes[1]);
}

TEST_F(Odp, ImplicitRegionRemotely) {
  checks("ibv_reg_mr(3): implicit ODP: addr 0, length SIZE_MAX");
  if (!need_implicit()) return;
  start();
  if (stopped()) return;
  const MrPtr mr = reg_implicit(right_->pd);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  Mapping memory(kPages);
  write(memory.address() + 10, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(memory.bytes() + 10, local_->bytes.data(), 100), 0);
  std::vector<uint8_t> heap(100);
  write(reinterpret_cast<uint64_t>(heap.data()), mr->rkey, IBV_WC_SUCCESS);
  EXPECT_EQ(std::memcmp(heap.data(), local_->bytes.data(), 100), 0);
}

TEST_F(Odp, ImplicitRegionLocally) {
  checks("ibv_reg_mr(3): implicit ODP: lkey");
  if (!need_implicit()) return;
  start();
  if (stopped()) return;
  const MrPtr here = reg_implicit(left_->pd);
  const MrPtr there = reg_implicit(right_->pd);
  ASSERT_NE(here, nullptr);
  ASSERT_NE(there, nullptr);
  std::vector<uint8_t> from(5000, 0x21);
  std::vector<uint8_t> to(5000);
  ASSERT_EQ(
      Recv(2).data({reinterpret_cast<uint64_t>(to.data()), 5000, there->lkey}).post(right_qp()), 0);
  Send send(1);
  send.data({reinterpret_cast<uint64_t>(from.data()), 5000, here->lkey});
  ASSERT_EQ(send.post(left_qp()), 0);
  expect_completion(left_done(), 1);
  expect_completion(right_received(), 2);
  EXPECT_EQ(from, to);
}

TEST_F(Odp, ImplicitRegionAndNoMemory) {
  checks("ibv_reg_mr(3): implicit ODP; a page that is not mapped: remote access error");
  if (!need_implicit()) return;
  start();
  if (stopped()) return;
  const MrPtr mr = reg_implicit(right_->pd);
  Mapping memory(kPages);
  const uint64_t gone = memory.address();
  memory.unmap();
  ASSERT_EQ(
      Send(1, IBV_WR_RDMA_WRITE).data(local_->sge(0, 100)).remote(gone, mr->rkey).post(left_qp()),
      0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Odp, UnmappedUnderARegionRemoteWrite) {
  checks("IBTA 10.6.3.1, 11.6.3.1: the peer's request fails, the process lives");
  if (!need_if_any(options().require_all || (caps().general_caps & IBV_ODP_SUPPORT) != 0,
                   "memory that is pinned stays"))
    return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const unsigned odp = options().require_all ? 0 : unsigned{IBV_ACCESS_ON_DEMAND};
  const MrPtr mr = reg(right_->pd, memory, kAllAccess | odp);
  ASSERT_NE(mr, nullptr);
  const uint64_t gone = memory.address();
  memory.unmap();
  ASSERT_EQ(
      Send(1, IBV_WR_RDMA_WRITE).data(local_->sge(0, 100)).remote(gone, mr->rkey).post(left_qp()),
      0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Odp, UnmappedUnderARegionRemoteRead) {
  checks("IBTA 10.6.3.1, 11.6.3.1: the peer's request fails, the process lives");
  if (!need_if_any(options().require_all, "memory that is pinned stays")) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess);
  ASSERT_NE(mr, nullptr);
  const uint64_t gone = memory.address();
  memory.unmap();
  Send read(1, IBV_WR_RDMA_READ);
  ASSERT_EQ(read.data(local_->sge(0, 100)).remote(gone, mr->rkey).post(left_qp()), 0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Odp, UnmappedUnderARegionRemoteAtomic) {
  checks("IBTA 10.6.3.1, 11.6.3.1: the peer's request fails, the process lives");
  if (!need_if_any(options().require_all, "memory that is pinned stays")) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess);
  ASSERT_NE(mr, nullptr);
  const uint64_t gone = memory.address();
  memory.unmap();
  Send add(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  ASSERT_EQ(add.data(local_->sge(0, 8)).atomic(gone, mr->rkey, 1).post(left_qp()), 0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR)
      << ibv_wc_status_str(wc.status);
}

TEST_F(Odp, UnmappedUnderALocalRegion) {
  checks("IBTA 11.6.2: local protection error, the process lives");
  if (!need_if_any(options().require_all, "memory that is pinned stays")) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(left_->pd, memory, kAllAccess);
  const uint64_t gone = memory.address();
  memory.unmap();
  ASSERT_EQ(Send(1).data({gone, 100, mr->lkey}).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Odp, UnmappedUnderAReceive) {
  checks("IBTA 11.6.2: local protection error at the responder, remote operation error");
  if (!need_if_any(options().require_all, "memory that is pinned stays")) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess);
  ASSERT_EQ(Recv(2).data({memory.address(), 4096, mr->lkey}).post(right_qp()), 0);
  memory.unmap();
  ASSERT_EQ(Send(1).data(local_->sge(0, 100)).post(left_qp()), 0);
  expect_completion(right_received(), 2, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_done(), 1, IBV_WC_REM_OP_ERR);
}

TEST_F(Odp, MadeReadOnlyUnderARegion) {
  checks("IBTA 10.6.3.1: a write that the process itself could not do");
  if (!need_if_any(options().require_all, "memory that is pinned stays")) return;
  start();
  if (stopped()) return;
  Mapping memory(kPages);
  const MrPtr mr = reg(right_->pd, memory, kAllAccess);
  memory.protect(PROT_READ);
  ASSERT_EQ(Send(1, IBV_WR_RDMA_WRITE)
                .data(local_->sge(0, 100))
                .remote(memory.address(), mr->rkey)
                .post(left_qp()),
            0);
  const ibv_wc wc = next_completion(left_done());
  EXPECT_TRUE(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_REM_OP_ERR)
      << ibv_wc_status_str(wc.status);
  EXPECT_EQ(memory.bytes()[1], 0);
}

TEST_F(Odp, Prefetch) {
  checks("ibv_advise_mr(3)");
  if (!need_odp()) return;
  const PdPtr pd = alloc_pd();
  Mapping memory(kPages);
  const MrPtr mr = reg(pd.get(), memory, kAllAccess | IBV_ACCESS_ON_DEMAND);
  ASSERT_NE(mr, nullptr);
  ibv_sge range{memory.address(), static_cast<uint32_t>(memory.size()), mr->lkey};
  const int result =
      ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1);
  if (!need(!is_unsupported(result), "ibv_advise_mr")) return;
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH,
                          &range, 1),
            0);
  const int no_fault = ibv_advise_mr(pd.get(), IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT,
                                     IBV_ADVISE_MR_FLAG_FLUSH, &range, 1);
  EXPECT_TRUE(no_fault == 0 || is_unsupported(no_fault)) << no_fault;
}

TEST_F(Odp, PrefetchThatCannotBe) {
  checks("ibv_advise_mr(3): ENOTSUP, EFAULT, EINVAL, EPERM, ENOENT");
  if (!need_odp()) return;
  const PdPtr pd = alloc_pd();
  const PdPtr other = alloc_pd();
  Mapping memory(kPages);
  const MrPtr mr = reg(pd.get(), memory, kAllAccess | IBV_ACCESS_ON_DEMAND);
  const MrPtr constant = reg(pd.get(), memory, IBV_ACCESS_ON_DEMAND);
  const MrPtr foreign = reg(other.get(), memory, kAllAccess | IBV_ACCESS_ON_DEMAND);
  ibv_sge range{memory.address(), static_cast<uint32_t>(memory.size()), mr->lkey};
  const auto advise = [&](ibv_sge sge, uint32_t flags, ibv_advise_mr_advice advice) {
    return ibv_advise_mr(pd.get(), advice, flags, &sge, 1);
  };
  constexpr auto kFlush = IBV_ADVISE_MR_FLAG_FLUSH;
  constexpr auto kPrefetch = IBV_ADVISE_MR_ADVICE_PREFETCH;
  const int probe = advise(range, kFlush, kPrefetch);
  if (!need(!is_unsupported(probe), "ibv_advise_mr")) return;
  EXPECT_EQ(advise(range, 1U << 20, kPrefetch), EINVAL) << "flags";
  ibv_sge beyond = range;
  beyond.addr += memory.size();
  EXPECT_EQ(advise(beyond, kFlush, kPrefetch), EFAULT) << "out of the region";
  ibv_sge unknown = range;
  unknown.lkey ^= 0x5500;
  const int no_such_key = advise(unknown, kFlush, kPrefetch);
  EXPECT_TRUE(no_such_key == EFAULT || no_such_key == ENOENT) << no_such_key;
  ibv_sge read_only = range;
  read_only.lkey = constant->lkey;
  const int not_writable = advise(read_only, kFlush, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE);
  EXPECT_TRUE(not_writable == EPERM || not_writable == EFAULT) << not_writable;
  ibv_sge of_other = range;
  of_other.lkey = foreign->lkey;
  const int not_ours = advise(of_other, kFlush, kPrefetch);
  EXPECT_TRUE(not_ours == EPERM || not_ours == ENOENT) << not_ours;
  memory.unmap();
  EXPECT_EQ(advise(range, kFlush, kPrefetch), EFAULT) << "not mapped";
}

}  // namespace
}  // namespace conformance
