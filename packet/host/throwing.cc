// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/throwing.h"

#include <cxxabi.h>

#include <cstdlib>

namespace urxe {
namespace {

/// More than the dynamic linker allocates for a thread: a block of each library, and a table.
constexpr size_t kRoom = 16384;

}  // namespace

bool can_throw() noexcept {
  void* volatile room = std::malloc(kRoom);
  if (room == nullptr) return false;
  std::free(room);
  return __cxxabiv1::__cxa_get_globals() != nullptr;
}

}  // namespace urxe
