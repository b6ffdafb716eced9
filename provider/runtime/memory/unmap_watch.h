// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "provider/runtime/memory/range_tree.h"
#include "transport/memory/memory_region.h"

namespace urxe {

class RuntimeDevice;
class UnmapGate;

/// The memory of a region, watched for the application taking it away.
struct WatchedRange : RangeTree::Node {
  MemoryRegion* region = nullptr;  ///< null: not watched
  std::shared_ptr<RuntimeDevice> device;
};

// The preloaded object tells of every call that is about to unmap, replace, protect or free memory.
// A region that has some of it is guarded from then on (MemoryRegion::guard()), and the call waits
// until no access that began before is under way. Memory that no region has costs a comparison, or
// a look into a tree where it lies between regions.

/// Before anything else here, and before the handlers are registered that take devices' locks in
/// fork(): theirs must be taken first. Once in a process; later calls do nothing.
void prepare_unmap_watch();

/// With the device's lock held, as unwatch_memory(); nothing is allocated. `memory` must not be
/// watched. `length` may be 0.
void watch_memory(WatchedRange& memory, MemoryRegion& region, const void* address, size_t length,
                  std::shared_ptr<RuntimeDevice> device);
/// `memory` may be unwatched.
void unwatch_memory(WatchedRange& memory);

/// What threads that unmap memory pass through.
UnmapGate& unmap_gate();
/// A guarded region may be the target of atomics: has threads that unmap pass the gate.
void expect_guarded_atomics();

}  // namespace urxe
