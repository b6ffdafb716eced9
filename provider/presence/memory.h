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

/// A call that takes memory away, between its beginning and its end.
struct urxe_taking {
  const struct urxe_memory_hooks* hooks;  ///< null: nobody has to be told of the end
  const void* address;
  size_t length;
  int begun;
};

static const struct urxe_taking kUrxeNothingTaken = {NULL, NULL, 0, 0};

/// Before memory is lost. The result is for urxe_end_loss().
static inline struct urxe_taking urxe_begin_loss(const void* address, size_t length, int loss) {
  struct urxe_taking taking = {urxe_current_memory_hooks(), address, length, 0};
  if (URXE_LIKELY(taking.hooks == NULL)) return kUrxeNothingTaken;
  taking.begun = taking.hooks->before(address, &taking.length, loss);
  return taking.begun != 0 ? taking : kUrxeNothingTaken;
}

/// `unchanged`: the call has failed and taken nothing away.
static inline void urxe_end_loss(const struct urxe_taking* taking, bool unchanged) {
  if (URXE_LIKELY(taking->hooks == NULL)) return;
  taking->hooks->after(taking->begun, taking->address, taking->length, unchanged ? 1 : 0);
}
