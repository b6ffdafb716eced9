// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe::test {

// A program that links this has an operator new that can be made to fail, and an operator delete
// that can be watched, for itself and for the libraries that it loads. Not in builds with a
// sanitizer, which brings operators of its own.

bool can_fail_allocations();

/// The `n`-th allocation of this thread from now on throws std::bad_alloc; 0: none does.
void fail_allocation(int n);
/// Whether the allocation that was to fail is still to come; fail_allocation(0) forgets it.
bool failure_is_due();

/// The function is called before each operator delete of this thread that frees something; null:
/// none is. It may allocate and free if it has called watch_frees(nullptr).
void watch_frees(void (*call)());

}  // namespace urxe::test
