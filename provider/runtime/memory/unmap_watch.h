// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "provider/runtime/memory/range_tree.h"
#include "transport/memory/memory_region.h"

namespace urxe {

class MemoryUser;
class UnmapGate;

/// The memory of a region, watched for the application taking it away.
struct WatchedRange : RangeTree::Node {
  MemoryRegion* region = nullptr;  ///< null: not watched
  MemoryUser* user = nullptr;
  uint64_t serial = 0;  ///< regions that are watched later have larger ones
};

// A region of a NIC holds its pages. One of urxe has only addresses, so it must not be used where
// the application has taken the memory away. The preloaded object tells of every call that does so,
// before it is carried out; then no access that began before is under way any more.
//
// The rule, for whole pages (MemoryLosses):
// - Unmapped by munmap(), mremap(), shmdt(), brk(), or by mapping something over it; or a block
//   that libc's allocator has mapped for itself, freed: gone. What is mapped there later is other
//   memory, and this region does not reach it. A new registration does.
// - Freed otherwise, or protected: uncertain. The allocator may unmap it in any later call, and
//   libc's own calls cannot be seen. Until a block in that page is allocated, which keeps the page
//   mapped, accesses are system calls that fail where nothing is mapped.
// - All else of the region stays as fast as it was.
//
// A freed block that the allocator gives out again is the same memory for a region that was never
// deregistered: so it is for a NIC, and registration caches live on it. Memory that no region has
// costs a comparison, or a look into a tree if it lies between regions.

/// Registers handlers of fork(). Must be called before anything else here, and before any other
/// handlers of fork() are registered, because this lock is to be taken last. Only the first call in
/// a process does something.
void prepare_unmap_watch();

/// With the device's lock held, as unwatch_memory(); nothing is allocated. `memory` must not be
/// watched. `length` may be 0. The user must not end before unwatch_memory().
void watch_memory(WatchedRange& memory, MemoryRegion& region, const void* address, size_t length,
                  MemoryUser& user);
/// `memory` may be unwatched.
void unwatch_memory(WatchedRange& memory);

/// From now on every thread calls `barrier` before it unmaps memory, or frees a block that was
/// mapped alone. It may be called within the application's allocator and must not allocate.
void watch_unmapping(void (*barrier)());

/// What threads that unmap memory pass through.
UnmapGate& unmap_gate();
/// An uncertain region may be the target of atomics: has threads that unmap pass the gate.
void expect_guarded_atomics();

}  // namespace urxe
