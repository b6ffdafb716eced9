// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdatomic.h>

#include "provider/presence/next.h"
#include "provider/presence/presence_abi.h"

/// urxe_presence::set_memory_hooks
void urxe_set_memory_hooks(const struct urxe_memory_hooks* hooks);

/// Finds the functions of the allocator that this object stands in front of, if that has not been
/// done. False, and nothing done: called from within itself, or by two threads at once.
bool urxe_find_allocator(void);

extern _Atomic(const struct urxe_memory_hooks*) urxe_memory_hooks;

/// Null in nearly all programs.
static inline const struct urxe_memory_hooks* urxe_current_memory_hooks(void) {
  return atomic_load_explicit(&urxe_memory_hooks, memory_order_acquire);
}

/// Before memory is lost. Returns the hooks for urxe_end_loss(), or null.
static inline const struct urxe_memory_hooks* urxe_begin_loss(const void* address, size_t length,
                                                              int loss) {
  const struct urxe_memory_hooks* hooks = urxe_current_memory_hooks();
  if (URXE_LIKELY(hooks == NULL)) return NULL;
  return hooks->before(address, length, loss) != 0 ? hooks : NULL;
}

static inline void urxe_end_loss(const struct urxe_memory_hooks* hooks) {
  if (URXE_UNLIKELY(hooks != NULL)) hooks->after();
}
