// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/dma_buf.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace urxe {
namespace {

/// Whether `length` bytes from `offset` on lie in the buffer. Its size is its end.
bool has_range(int fd, uint64_t offset, size_t length) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return false;
  (void)lseek(fd, 0, SEEK_SET);
  const auto bytes = static_cast<uint64_t>(size);
  return offset <= bytes && length <= bytes - offset;
}

/// 0, or why there is nothing to map.
int check(int fd, uint64_t offset, size_t length) {
  struct statfs file {};
  if (fstatfs(fd, &file) != 0) return errno;
  if (file.f_type != DMA_BUF_MAGIC) return EINVAL;
  return length != 0 && has_range(fd, offset, length) ? 0 : EINVAL;
}

/// An exporter that has no way to map its buffer makes mmap(2) say one of these.
bool cannot_be_mapped(int errno_value) {
  return errno_value == EINVAL || errno_value == ENODEV || errno_value == ENOTSUP ||
         errno_value == ENXIO;
}

/// An exporter without caches to look after does nothing; what fails here is no reason to fail.
void tell(int fd, uint64_t flags) {
  dma_buf_sync sync{};
  sync.flags = flags | DMA_BUF_SYNC_RW;
  while (ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync) != 0 && (errno == EINTR || errno == EAGAIN)) {
  }
}

}  // namespace

Expected<DmaBuf, Errno> DmaBuf::map(int fd, uint64_t offset, size_t length, bool writable) {
  if (const int wrong = check(fd, offset, length); wrong != 0) return error(wrong);
  DmaBuf buffer;
  buffer.fd_ = FileDescriptor(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!buffer.fd_) return error(errno);
  // From the start: some exporters (of Linux 6.1: drm_gem_shmem_fault()) map their first page
  // whatever offset they are told.
  const size_t bytes = offset + length;
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
  if (mapping == MAP_FAILED) return error(cannot_be_mapped(errno) ? EOPNOTSUPP : errno);
  buffer.mapping_ = mapping;
  buffer.mapped_ = bytes;
  buffer.bytes_ = static_cast<uint8_t*>(mapping) + offset;
  tell(fd, DMA_BUF_SYNC_START);
  return buffer;
}

DmaBuf& DmaBuf::operator=(DmaBuf&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  fd_ = std::move(other.fd_);
  bytes_ = std::exchange(other.bytes_, nullptr);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapped_ = std::exchange(other.mapped_, 0);
  return *this;
}

void DmaBuf::unmap() {
  if (mapping_ == nullptr) return;
  tell(fd_.get(), DMA_BUF_SYNC_END);
  munmap(std::exchange(mapping_, nullptr), mapped_);
  bytes_ = nullptr;
  fd_.reset();
}

}  // namespace urxe
