// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#if defined(URXE_DEBUG_CHECKS)
#include <cstdio>
#include <cstdlib>
#endif

namespace urxe {

/// Our own invariants. A debug or sanitizer build stops where one is broken; in a release build the
/// process is somebody else's, so the caller gets `false` and must leave safely.
#if defined(URXE_DEBUG_CHECKS)
[[nodiscard]] inline bool check(bool invariant) {
  if (!invariant) {
    std::fputs("urxe: internal invariant broken\n", stderr);
    std::abort();
  }
  return true;
}
#else
[[nodiscard]] constexpr bool check(bool invariant) {
  return invariant;
}
#endif

}  // namespace urxe
