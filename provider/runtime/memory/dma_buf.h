// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// A part of a dma-buf, mapped. The kernel is told that this process accesses the buffer from
/// beginning to end of the object (DMA_BUF_IOCTL_SYNC), which matters to caches that are not
/// coherent.
class DmaBuf {
 public:
  /// Maps `length` bytes from `offset` on. Errors: EBADF (not open), EINVAL (no dma-buf, or it ends
  /// before), EOPNOTSUPP (its exporter lets no process map it), EACCES (`writable`, but the
  /// descriptor is not), or what mmap(2) says.
  static Expected<DmaBuf, Errno> map(int fd, uint64_t offset, size_t length, bool writable);

  DmaBuf() = default;
  DmaBuf(DmaBuf&& other) noexcept { *this = static_cast<DmaBuf&&>(other); }
  DmaBuf& operator=(DmaBuf&& other) noexcept;
  DmaBuf(const DmaBuf&) = delete;
  DmaBuf& operator=(const DmaBuf&) = delete;
  ~DmaBuf() { unmap(); }

  /// The byte at `offset`; null if nothing is mapped.
  [[nodiscard]] uint8_t* bytes() const { return bytes_; }

 private:
  void unmap();

  FileDescriptor fd_;
  uint8_t* bytes_ = nullptr;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace urxe
