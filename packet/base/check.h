// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#if defined(URXE_DEBUG_CHECKS)
#include <cstdio>
#include <cstdlib>
#endif

namespace urxe {

/// Checks an invariant of our own code. If it is broken, a debug or sanitizer build aborts. A
/// release build runs in somebody else's process, so there the caller gets `false` and must return
/// safely.
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
