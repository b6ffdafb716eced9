// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/descriptor_room.h"

#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>

#include "packet/host/file_descriptor.h"

namespace urxe {
namespace {

rlim_t most_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

bool has_descriptors(size_t more) {
  // The lowest number that is free: mostly, as many are in use.
  const FileDescriptor next(eventfd(0, EFD_CLOEXEC));
  return next && static_cast<rlim_t>(next.get()) + more <= most_descriptors();
}

size_t spare_descriptors() {
  constexpr rlim_t kUsually = 256;
  return static_cast<size_t>(std::min(kUsually, most_descriptors() / 4));
}

}  // namespace urxe
