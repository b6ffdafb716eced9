// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/dma_buf.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace urxe {
namespace {

int error_of(int fd, size_t length = 4096) {
  const auto buffer = DmaBuf::map(fd, 0, length, true);
  return buffer ? 0 : buffer.error().value;
}

// A kernel that makes dma-bufs is in the guest of the interoperability tests
// (interop.drill_dmabuf).
TEST(DmaBuf, WhatIsNoneIsRefused) {
  const FileDescriptor memory(memfd_create("test", 0));
  ASSERT_EQ(ftruncate(memory.get(), 4096), 0);
  EXPECT_EQ(error_of(memory.get()), EINVAL);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  EXPECT_EQ(error_of(reader.get()), EINVAL);
}

TEST(DmaBuf, DescriptorThatIsNotOpen) {
  FileDescriptor memory(memfd_create("test", 0));
  const int fd = memory.get();
  memory.reset();
  EXPECT_EQ(error_of(fd), EBADF);
}

}  // namespace
}  // namespace urxe
