// SPDX-License-Identifier: BSD-2-Clause
// Memory regions: registering, what the keys are good for, re-registering.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <set>

#include "tests/conformance/support/fixture.h"
#include "tests/support/own_addresses.h"

namespace conformance::mr_test {
namespace {

constexpr uint32_t kSize = 256;

/// The left side accesses memory of the right side.
struct Mr : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    connect_pair();
    if (stopped()) return;
    local_ = std::make_unique<Buffer>(left_->pd, kSize);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    Conformance::TearDown();
  }

  MrPtr reg(unsigned access) {
    return MrPtr(ibv_reg_mr(right_->pd, memory_.data(), memory_.size(), static_cast<int>(access)));
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_.data()); }
  void write(uint64_t remote, uint32_t rkey, ibv_wc_status status) {
    ASSERT_EQ(
        Send(1, IBV_WR_RDMA_WRITE).data(local_->sge(0, 8)).remote(remote, rkey).post(left_qp()), 0);
    expect_completion(left_done(), 1, status);
  }
  bool written(size_t at) const { return std::memcmp(&memory_[at], local_->bytes.data(), 8) == 0; }

  alignas(4096) std::array<uint8_t, 2 * 4096> memory_{};
  std::unique_ptr<Buffer> local_;
};

TEST_F(Mr, MembersAreWhatWasAsked) {
  checks("ibv_reg_mr(3)");
  const MrPtr mr = reg(kAllAccess);
  ASSERT_NE(mr, nullptr);
  EXPECT_EQ(mr->addr, memory_.data());
  EXPECT_EQ(mr->length, memory_.size());
  EXPECT_EQ(mr->pd, right_->pd);
  EXPECT_EQ(mr->context, context());
}

TEST_F(Mr, RemoteWriteNeedsLocalWrite) {
  checks("ibv_reg_mr(3): IBV_ACCESS_LOCAL_WRITE must be set for REMOTE_WRITE or REMOTE_ATOMIC");
  errno = 0;
  EXPECT_EQ(reg(IBV_ACCESS_REMOTE_WRITE), nullptr);
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_EQ(reg(IBV_ACCESS_REMOTE_ATOMIC), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Mr, UnknownAccessFlagIsRefused) {
  checks("ibv_reg_mr(3): access");
  EXPECT_EQ(reg(IBV_ACCESS_LOCAL_WRITE | (1U << 18)), nullptr);
}

TEST_F(Mr, OptionalFlagsAreIgnored) {
  checks("ibv_reg_mr(3): IBV_ACCESS_RELAXED_ORDERING, optional access flags");
  EXPECT_NE(reg(kAllAccess | IBV_ACCESS_RELAXED_ORDERING), nullptr);
  EXPECT_NE(reg(kAllAccess | IBV_ACCESS_OPTIONAL_RANGE), nullptr);
}

TEST_F(Mr, FlushFlagsNeedADeviceThatFlushes) {
  checks("ibv_reg_mr(3): IBV_ACCESS_FLUSH_GLOBAL, IBV_ACCESS_FLUSH_PERSISTENT");
  for (const unsigned flag : {1U << 8, 1U << 9}) {
    errno = 0;
    const MrPtr mr = reg(kAllAccess | flag);
    EXPECT_TRUE(mr != nullptr || errno == EINVAL || is_unsupported(errno)) << errno;
  }
}

TEST_F(Mr, HugeTlbFlagDoesNotHarm) {
  checks("ibv_reg_mr(3): IBV_ACCESS_HUGETLB");
  const MrPtr mr = reg(kAllAccess | IBV_ACCESS_HUGETLB);
  EXPECT_TRUE(mr != nullptr || errno == EINVAL || is_unsupported(errno)) << errno;
}

TEST_F(Mr, ReadOnlyMemoryCannotBeRegisteredForWriting) {
  checks("ibv_reg_mr(3); IBTA 10.6.3.1: the consumer must have the access it gives away");
  void* page = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  errno = 0;
  const MrPtr mr(ibv_reg_mr(right_->pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(mr, nullptr);
  EXPECT_EQ(errno, EFAULT);
  const MrPtr readable(ibv_reg_mr(right_->pd, page, 4096, IBV_ACCESS_REMOTE_READ));
  EXPECT_NE(readable, nullptr);
  ::munmap(page, 4096);
}

TEST_F(Mr, UnmappedMemoryCannotBeRegistered) {
  checks("ibv_reg_mr(3)");
  void* page = urxe::test::map_at_own_addresses(4096, PROT_NONE);
  ASSERT_NE(page, MAP_FAILED);
  ::munmap(page, 4096);
  errno = 0;
  const MrPtr mr(ibv_reg_mr(right_->pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(mr, nullptr);
  const int error = errno;
  // After ibv_fork_init(), which a library may have called, libibverbs asks madvise(2) first.
  EXPECT_EQ(error, ibv_is_fork_initialized() == IBV_FORK_ENABLED ? ENOMEM : EFAULT);
}

// The kernel could not pin it.
TEST_F(Mr, MemoryBeyondTheEndOfAFileCannotBeRegistered) {
  checks("ibv_reg_mr(3)");
  std::FILE* const file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(::ftruncate(::fileno(file), 4096), 0);
  void* const at = ::mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
  ASSERT_NE(at, MAP_FAILED);
  constexpr int kPopulateRead = 22;
  if (::madvise(at, 4096, kPopulateRead) != 0) GTEST_SKIP() << "urxe needs Linux 5.14 for it";
  const MrPtr there(ibv_reg_mr(right_->pd, at, 4096, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_NE(there, nullptr);
  errno = 0;
  const MrPtr beyond(ibv_reg_mr(right_->pd, at, 16384, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(beyond, nullptr);
  EXPECT_EQ(errno, EFAULT);
  ::munmap(at, 16384);
  std::fclose(file);
}

TEST_F(Mr, LengthBeyondTheAddressSpace) {
  checks("ibv_reg_mr(3): addr, length");
  const MrPtr mr(ibv_reg_mr(right_->pd, memory_.data(), SIZE_MAX - 4096, IBV_ACCESS_LOCAL_WRITE));
  EXPECT_EQ(mr, nullptr);
}

TEST_F(Mr, NoBytes) {
  checks("ibv_reg_mr(3): length; the kernel's ib_umem_get: at least one page");
  if (!need_if_any(options().require_all, "a check of the length")) return;
  errno = 0;
  EXPECT_EQ(MrPtr(ibv_reg_mr(right_->pd, memory_.data(), 0, IBV_ACCESS_LOCAL_WRITE)), nullptr);
  EXPECT_EQ(errno, EINVAL);
  // Within a page, it touches that page.
  EXPECT_NE(MrPtr(ibv_reg_mr(right_->pd, &memory_[1], 0, IBV_ACCESS_LOCAL_WRITE)), nullptr);
}

TEST_F(Mr, RemoteWriteAllowed) {
  checks("ibv_reg_mr(3): IBV_ACCESS_REMOTE_WRITE");
  const MrPtr mr = reg(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  write(address() + 100, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_TRUE(written(100));
  EXPECT_EQ(memory_[99], 0);
  EXPECT_EQ(memory_[108], 0);
}

TEST_F(Mr, RemoteWriteNotAllowed) {
  checks("ibv_reg_mr(3): IBV_ACCESS_REMOTE_WRITE; IBTA 9.7.4.1.4 (R_Key check)");
  const MrPtr mr = reg(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  write(address(), mr->rkey, IBV_WC_REM_ACCESS_ERR);
  EXPECT_FALSE(written(0));
}

TEST_F(Mr, RemoteReadNotAllowed) {
  checks("ibv_reg_mr(3): IBV_ACCESS_REMOTE_READ");
  const MrPtr mr = reg(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
  Send read(1, IBV_WR_RDMA_READ);
  ASSERT_EQ(read.data(local_->sge()).remote(address(), mr->rkey).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mr, RemoteAtomicNotAllowed) {
  checks("ibv_reg_mr(3): IBV_ACCESS_REMOTE_ATOMIC");
  const MrPtr mr = reg(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  Send add(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  ASSERT_EQ(add.data(local_->sge(0, 8)).atomic(address(), mr->rkey, 1).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(memory_[0], 0);
}

TEST_F(Mr, ReceiveNeedsLocalWrite) {
  checks("ibv_reg_mr(3): IBV_ACCESS_LOCAL_WRITE");
  const MrPtr mr = reg(0);
  ASSERT_NE(mr, nullptr) << "local read access is always there";
  ASSERT_EQ(Recv(2).data({address(), kSize, mr->lkey}).post(right_qp()), 0);
  ASSERT_EQ(Send(1).data(local_->sge(0, 8)).post(left_qp()), 0);
  expect_completion(right_received(), 2, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_done(), 1, IBV_WC_REM_OP_ERR);
  EXPECT_FALSE(written(0));
}

TEST_F(Mr, KeyDiesWithTheRegion) {
  checks("ibv_reg_mr(3): ibv_dereg_mr()");
  MrPtr mr = reg(kAllAccess);
  const uint32_t rkey = mr->rkey;
  mr.reset();
  write(address(), rkey, IBV_WC_REM_ACCESS_ERR);
  EXPECT_FALSE(written(0));
}

TEST_F(Mr, FirstAndLastByteButNotBeyond) {
  checks("IBTA 9.7.4.1.5 (length check of the R_Key)");
  const MrPtr mr(ibv_reg_mr(right_->pd, &memory_[1000], 100, kAllAccess));
  write(address() + 1000, mr->rkey, IBV_WC_SUCCESS);
  write(address() + 1092, mr->rkey, IBV_WC_SUCCESS);
  write(address() + 1093, mr->rkey, IBV_WC_REM_ACCESS_ERR);
  EXPECT_TRUE(written(1000));
  EXPECT_TRUE(written(1092));
  EXPECT_EQ(memory_[1100], 0);
}

TEST_F(Mr, BeforeTheFirstByte) {
  checks("IBTA 9.7.4.1.5 (length check of the R_Key)");
  const MrPtr mr(ibv_reg_mr(right_->pd, &memory_[1000], 100, kAllAccess));
  write(address() + 999, mr->rkey, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(memory_[999], 0);
}

TEST_F(Mr, AddressThatWrapsAround) {
  checks("IBTA 9.7.4.1.5 (length check of the R_Key)");
  const MrPtr mr = reg(kAllAccess);
  write(UINT64_MAX - 3, mr->rkey, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mr, OfAnotherProtectionDomainRemotely) {
  checks("IBTA 9.7.4.1.4: the key's protection domain must be the queue pair's");
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), kSize);
  write(foreign.address(), foreign.rkey(), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(foreign.bytes[0], 0);
}

TEST_F(Mr, OfAnotherProtectionDomainLocally) {
  checks("IBTA 10.6.3.3, 11.6.2: local protection error");
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), kSize);
  ASSERT_EQ(Send(1).data(foreign.sge(0, 8)).post(left_qp()), 0);
  expect_completion(left_done(), 1, IBV_WC_LOC_PROT_ERR);
}

TEST_F(Mr, OfAnotherProtectionDomainInAReceive) {
  checks("IBTA 11.6.2: local protection error at the responder, remote operation error");
  const PdPtr other = alloc_pd();
  const Buffer foreign(other.get(), kSize);
  ASSERT_EQ(Recv(2).data(foreign.sge()).post(right_qp()), 0);
  ASSERT_EQ(Send(1).data(local_->sge(0, 8)).post(left_qp()), 0);
  expect_completion(right_received(), 2, IBV_WC_LOC_PROT_ERR);
  expect_completion(left_done(), 1, IBV_WC_REM_OP_ERR);
}

TEST_F(Mr, Iova) {
  checks("ibv_reg_mr(3): ibv_reg_mr_iova()");
  constexpr uint64_t kIova = 0x7000000000;
  const MrPtr mr(ibv_reg_mr_iova(right_->pd, memory_.data(), kSize, kIova, kAllAccess));
  if (!need(mr != nullptr || !is_unsupported(errno), "ibv_reg_mr_iova")) return;
  ASSERT_NE(mr, nullptr);
  write(kIova + 16, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_TRUE(written(16));
  write(address(), mr->rkey, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mr, IovaAtTheEndOfTheAddresses) {
  checks("ibv_reg_mr(3): ibv_reg_mr_iova(): any address; the last byte has the last one");
  constexpr uint64_t kIova = ~uint64_t{0} - kSize + 1;
  const MrPtr mr(ibv_reg_mr_iova(right_->pd, memory_.data(), kSize, kIova, kAllAccess));
  if (!need(mr != nullptr || !is_unsupported(errno), "ibv_reg_mr_iova")) return;
  ASSERT_NE(mr, nullptr);
  write(kIova + kSize - 8, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_TRUE(written(kSize - 8));
  write(kIova + kSize - 4, mr->rkey, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mr, IovaHoldsForLocalAccessToo) {
  checks("ibv_reg_mr(3): ibv_reg_mr_iova(): the address for lkey and rkey");
  constexpr uint64_t kIova = 0x7000000000;
  const MrPtr mr(ibv_reg_mr_iova(right_->pd, memory_.data(), kSize, kIova, kAllAccess));
  if (!need(mr != nullptr || !is_unsupported(errno), "ibv_reg_mr_iova")) return;
  ASSERT_EQ(Recv(2).data({kIova + 32, 8, mr->lkey}).post(right_qp()), 0);
  ASSERT_EQ(Send(1).data(local_->sge(0, 8)).post(left_qp()), 0);
  expect_completion(right_received(), 2);
  EXPECT_TRUE(written(32));
}

TEST_F(Mr, ZeroBased) {
  checks("ibv_reg_mr(3): IBV_ACCESS_ZERO_BASED");
  const MrPtr mr = reg(kAllAccess | IBV_ACCESS_ZERO_BASED);
  if (!need(mr != nullptr, "zero-based regions")) return;
  write(24, mr->rkey, IBV_WC_SUCCESS);
  EXPECT_TRUE(written(24));
  write(address(), mr->rkey, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Mr, ZeroBasedLocally) {
  checks("ibv_reg_mr(3): IBV_ACCESS_ZERO_BASED");
  const MrPtr mr = reg(kAllAccess | IBV_ACCESS_ZERO_BASED);
  if (!need(mr != nullptr, "zero-based regions")) return;
  ASSERT_EQ(Recv(2).data({40, 8, mr->lkey}).post(right_qp()), 0);
  ASSERT_EQ(Send(1).data(local_->sge(0, 8)).post(left_qp()), 0);
  expect_completion(right_received(), 2);
  EXPECT_TRUE(written(40));
}

TEST_F(Mr, NullRegionReadsZeroAndSwallowsWrites) {
  checks("ibv_alloc_null_mr(3)");
  const MrPtr mr(ibv_alloc_null_mr(right_->pd));
  if (!need(mr != nullptr || !is_unsupported(errno), "null regions")) return;
  ASSERT_NE(mr, nullptr);
  // A receive that throws its middle away.
  memory_.fill(0xee);
  const MrPtr real = reg(kAllAccess);
  Recv receive(2);
  receive.data({address(), 4, real->lkey});
  receive.data({0x1234, 100, mr->lkey});
  receive.data({address() + 4, 4, real->lkey});
  ASSERT_EQ(receive.post(right_qp()), 0);
  ASSERT_EQ(Send(1).data(local_->sge(0, 108)).post(left_qp()), 0);
  expect_completion(left_done(), 1);
  EXPECT_EQ(expect_completion(right_received(), 2).byte_len, 108U);
  EXPECT_EQ(std::memcmp(&memory_[0], &local_->bytes[0], 4), 0);
  EXPECT_EQ(std::memcmp(&memory_[4], &local_->bytes[104], 4), 0);
  EXPECT_EQ(memory_[8], 0xee);
  // A send out of it is zeros.
  Buffer inbox(left_->pd, 32, kAllAccess, 0x55);
  ASSERT_EQ(Recv(3).data(inbox.sge()).post(left_qp()), 0);
  ASSERT_EQ(Send(4).data({0, 32, mr->lkey}).post(right_qp()), 0);
  expect_completion(right_done(), 4);
  expect_completion(left_received(), 3);
  EXPECT_EQ(inbox.bytes, std::vector<uint8_t>(32, 0));
}

TEST_F(Mr, KeysAreNotGivenAgainAtOnce) {
  checks("IBTA 10.6.3.2: keys; a stale key must not open the next region");
  std::set<uint32_t> keys;
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) keys.insert(reg(kAllAccess)->rkey);
  EXPECT_EQ(keys.size(), size_t{kCount});
}

TEST_F(Mr, KeysCannotBeCounted) {
  checks("IBTA 10.6.3.2: keys; the next key cannot be told from the last two");
  if (!need_if_any(options().require_all, "unguessable keys are no device's duty")) return;
  std::set<uint32_t> steps;
  uint32_t last = reg(kAllAccess)->rkey;
  constexpr int kCount = 20;
  for (int i = 0; i < kCount; ++i) {
    const uint32_t next = reg(kAllAccess)->rkey;
    steps.insert(next - last);
    last = next;
  }
  EXPECT_GT(steps.size(), 10U);
}

TEST_F(Mr, RegionsOfOneMemoryAreIndependent) {
  checks("ibv_reg_mr(3)");
  const MrPtr reading = reg(IBV_ACCESS_REMOTE_READ);
  MrPtr writing = reg(kAllAccess);
  write(address(), writing->rkey, IBV_WC_SUCCESS);
  writing.reset();
  Send read(2, IBV_WR_RDMA_READ);
  ASSERT_EQ(read.data(local_->sge(64, 8)).remote(address(), reading->rkey).post(left_qp()), 0);
  expect_completion(left_done(), 2);
  EXPECT_EQ(std::memcmp(&local_->bytes[64], local_->bytes.data(), 8), 0);
}

}  // namespace
}  // namespace conformance::mr_test
