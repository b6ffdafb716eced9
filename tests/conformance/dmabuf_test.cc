// SPDX-License-Identifier: BSD-2-Clause
// Regions of dma-bufs. The buffers are those of the kernel's module vgem, a graphics driver without
// a card.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "tests/conformance/support/fixture.h"

namespace conformance {
namespace {

// Of the kernel's <drm/drm.h>, which Debian has in no package of the C library.
struct DrmVersion {
  int major, minor, patchlevel;
  size_t name_length;
  char* name;
  size_t date_length;
  char* date;
  size_t description_length;
  char* description;
};
struct DrmCreateDumb {
  uint32_t height, width, bits_per_pixel, flags, handle, pitch;
  uint64_t size;
};
struct DrmPrimeHandle {
  uint32_t handle, flags;
  int32_t fd;
};
constexpr unsigned long kDrmVersion = _IOWR('d', 0x00, DrmVersion);
constexpr unsigned long kDrmCreateDumb = _IOWR('d', 0xb2, DrmCreateDumb);
constexpr unsigned long kDrmPrimeHandleToFd = _IOWR('d', 0x2d, DrmPrimeHandle);

constexpr size_t kPage = 4096;
constexpr size_t kBufferBytes = 4 * kPage;

/// A node of vgem's; -1: there is none.
int open_vgem() {
  for (int i = 0; i < 16; ++i) {
    const int fd = ::open(("/dev/dri/card" + std::to_string(i)).c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    std::array<char, 16> name{};
    DrmVersion version{};
    version.name = name.data();
    version.name_length = name.size() - 1;
    if (::ioctl(fd, kDrmVersion, &version) == 0 && std::strcmp(name.data(), "vgem") == 0) {
      return fd;
    }
    ::close(fd);
  }
  return -1;
}

/// A dma-buf of kBufferBytes; -1: none can be made.
int make_dma_buf(uint32_t flags = O_CLOEXEC | O_RDWR) {
  const int vgem = open_vgem();
  if (vgem < 0) return -1;
  DrmCreateDumb buffer{};
  buffer.width = kPage / 4;
  buffer.height = kBufferBytes / kPage;
  buffer.bits_per_pixel = 32;
  DrmPrimeHandle prime{};
  prime.fd = -1;
  if (::ioctl(vgem, kDrmCreateDumb, &buffer) == 0 && buffer.size == kBufferBytes) {
    prime.handle = buffer.handle;
    prime.flags = flags;
    if (::ioctl(vgem, kDrmPrimeHandleToFd, &prime) != 0) prime.fd = -1;
  }
  ::close(vgem);
  return prime.fd;
}

/// The left side accesses a dma-buf that is registered on the right side.
struct DmaBuf : PairConformance {
  void SetUp() override {
    Conformance::SetUp();
    if (HasFatalFailure()) return;
    fd_ = make_dma_buf();
    if (!need_if_any(fd_ >= 0, "a dma-buf (modprobe vgem)")) return;
    connect_pair();
    if (stopped()) return;
    void* memory = ::mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    ASSERT_NE(memory, MAP_FAILED);
    memory_ = static_cast<uint8_t*>(memory);
    local_ = std::make_unique<Buffer>(left_->pd, kPage);
    local_->fill_pattern();
  }
  void TearDown() override {
    local_.reset();
    if (memory_ != nullptr) ::munmap(memory_, kBufferBytes);
    if (fd_ >= 0) ::close(fd_);
    Conformance::TearDown();
  }
  MrPtr reg(uint64_t offset, size_t length, uint64_t iova, unsigned access = kAllAccess) {
    errno = 0;
    return MrPtr(
        ibv_reg_dmabuf_mr(right_->pd, offset, length, iova, fd_, static_cast<int>(access)));
  }
  int refused(uint64_t offset, size_t length, uint64_t iova, unsigned access = kAllAccess) {
    const MrPtr mr = reg(offset, length, iova, access);
    const int why = errno;
    EXPECT_EQ(mr, nullptr);
    return why;
  }
  void access(ibv_wr_opcode opcode, uint64_t remote, uint32_t rkey, uint32_t bytes,
              ibv_wc_status status = IBV_WC_SUCCESS) {
    ASSERT_EQ(Send(1, opcode).data(local_->sge(0, bytes)).remote(remote, rkey).post(left_qp()), 0);
    expect_completion(left_done(), 1, status);
  }

  int fd_ = -1;
  uint8_t* memory_ = nullptr;
  std::unique_ptr<Buffer> local_;
};

TEST_F(DmaBuf, IsWrittenAndRead) {
  checks("ibv_reg_dmabuf_mr(3)");
  if (stopped()) return;
  constexpr uint64_t kIova = 0x700000000000 + 100;
  const MrPtr mr = reg(kPage + 100, 2 * kPage, kIova);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  access(IBV_WR_RDMA_WRITE, kIova + 50, mr->rkey, 3000);
  EXPECT_EQ(std::memcmp(memory_ + kPage + 150, local_->bytes.data(), 3000), 0);
  memory_[3 * kPage + 99] = 0x5a;
  access(IBV_WR_RDMA_READ, kIova + 2 * kPage - 1, mr->rkey, 1);
  EXPECT_EQ(local_->bytes[0], 0x5a);
}

TEST_F(DmaBuf, IsUsedLocally) {
  checks("ibv_reg_dmabuf_mr(3): lkey");
  if (stopped()) return;
  const MrPtr mr = reg(0, kBufferBytes, 0);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  const ibv_sge receive{16, 64, mr->lkey};
  ASSERT_EQ(Recv(5).data(receive).post(right_qp()), 0);
  ASSERT_EQ(Send(1, IBV_WR_SEND).data(local_->sge(0, 64)).post(left_qp()), 0);
  expect_completion(right_received(), 5);
  EXPECT_EQ(std::memcmp(memory_ + 16, local_->bytes.data(), 64), 0);
}

TEST_F(DmaBuf, EndsWhereTheRegionEnds) {
  checks("ibv_reg_dmabuf_mr(3): length");
  if (stopped()) return;
  const MrPtr mr = reg(0, kPage, 0);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  access(IBV_WR_RDMA_WRITE, kPage - 7, mr->rkey, 8, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(DmaBuf, WhatDoesNotFitIsRefused) {
  checks("ibv_reg_dmabuf_mr(3): offset, length, iova");
  if (stopped()) return;
  EXPECT_EQ(refused(0, kBufferBytes + 1, 0), EINVAL);
  EXPECT_EQ(refused(kBufferBytes, 1, 0), EINVAL);
  EXPECT_EQ(refused(UINT64_MAX - kPage + 1, kPage, 0), EINVAL);
  EXPECT_EQ(refused(8, 8, 0), EINVAL);
  EXPECT_EQ(refused(0, kPage, 0, IBV_ACCESS_REMOTE_WRITE), EINVAL);
}

TEST_F(DmaBuf, ThatIsReadOnlyCannotBeRegisteredForWriting) {
  checks("ibv_reg_dmabuf_mr(3); open(2): EACCES");
  if (stopped()) return;
  const int read_only = make_dma_buf(O_CLOEXEC);
  ASSERT_GE(read_only, 0);
  errno = 0;
  const MrPtr writable(
      ibv_reg_dmabuf_mr(right_->pd, 0, kPage, 0, read_only, IBV_ACCESS_LOCAL_WRITE));
  // Network cards write past the descriptor's mode.
  EXPECT_TRUE(writable != nullptr || errno == EACCES) << std::strerror(errno);
  const MrPtr readable(
      ibv_reg_dmabuf_mr(right_->pd, 0, kPage, 0, read_only, IBV_ACCESS_REMOTE_READ));
  EXPECT_NE(readable, nullptr) << std::strerror(errno);
  ::close(read_only);
}

TEST_F(DmaBuf, OutlivesItsDescriptor) {
  checks("ibv_reg_dmabuf_mr(3)");
  if (stopped()) return;
  const MrPtr mr = reg(0, kBufferBytes, 0);
  ASSERT_NE(mr, nullptr) << std::strerror(errno);
  ::close(fd_);
  fd_ = -1;
  access(IBV_WR_RDMA_WRITE, 8, mr->rkey, 8);
  EXPECT_EQ(std::memcmp(memory_ + 8, local_->bytes.data(), 8), 0);
}

}  // namespace
}  // namespace conformance
