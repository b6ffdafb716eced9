// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "packet/host/file_descriptor.h"
#include "tests/provider/verbs/verbs_fixture.h"

namespace urxe {
namespace {

constexpr int kWrites = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

struct DmaBufMr : testing::Test {
  int refused(uint64_t offset, uint64_t iova, int fd, int access) {
    errno = 0;
    EXPECT_EQ(open_.ops().reg_dmabuf_mr(pd_, offset, 4096, iova, fd, access), nullptr);
    return errno;
  }

  test::OpenContext open_;
  ibv_pd* pd_ = open_.alloc_pd();
  FileDescriptor memory_{memfd_create("test", 0)};
};

/// NCCL and UCX ask so, and would hand over a graphics card's memory, which cannot be mapped.
TEST_F(DmaBufMr, ProbeOfPrograms) {
  EXPECT_EQ(refused(0, 0, -1, 0), EOPNOTSUPP);
  EXPECT_EQ(refused(1, 0, -1, 1 << 18), EOPNOTSUPP);
}

TEST_F(DmaBufMr, ArgumentsThatTheKernelRefuses) {
  EXPECT_EQ(refused(1, 0, memory_.get(), kWrites), EINVAL);
  EXPECT_EQ(refused(0, 0, memory_.get(), IBV_ACCESS_REMOTE_WRITE), EINVAL);
  EXPECT_EQ(refused(0, 0, memory_.get(), kWrites | IBV_ACCESS_ON_DEMAND), EINVAL);
  EXPECT_EQ(refused(0, 0, memory_.get(), kWrites), EINVAL);  // no dma-buf
}

// Expect: ibv_reg_mr_ex() of later releases comes to the same end.
TEST_F(DmaBufMr, ByTheExtendedCall) {
  using abi::MrInitAttr;
  MrInitAttr init{};
  init.length = 4096;
  init.access = kWrites;
  init.comp_mask = MrInitAttr::kIova | MrInitAttr::kFd | MrInitAttr::kFdOffset;
  init.fd = -1;
  errno = 0;
  EXPECT_EQ(open_.ops().reg_mr_ex(pd_, &init), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  init.fd = memory_.get();
  EXPECT_EQ(open_.ops().reg_mr_ex(pd_, &init), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace urxe
