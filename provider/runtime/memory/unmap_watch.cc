// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/unmap_watch.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <utility>

#include "provider/presence/presence_abi.h"
#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/locks/spinlock.h"
#include "provider/runtime/memory/mapped_memory.h"
#include "provider/runtime/memory/unmap_gate.h"

namespace urxe {
namespace {

constinit Spinlock lock;   // a leaf: nothing is taken or waited for with it held
constinit RangeTree tree;  // under the lock
constinit UnmapGate gate;

// What lies outside these two overlaps nothing. Under the lock; read without.
constinit std::atomic<uintptr_t> lowest{0};
constinit std::atomic<uintptr_t> highest{0};

void note_bounds() {
  lowest.store(tree.lowest(), std::memory_order_relaxed);
  highest.store(tree.highest(), std::memory_order_relaxed);
}

/// Guards all regions that have some of the range. Answers the device of one of them: of those
/// whose address is above `last`, the one with the lowest; null: there is none.
std::shared_ptr<RuntimeDevice> guard_overlapping(uintptr_t begin, uintptr_t end,
                                                 const RuntimeDevice* last) {
  std::lock_guard holder(lock);
  std::shared_ptr<RuntimeDevice> next;
  tree.visit_overlapping(begin, end, [&](RangeTree::Node& node) {
    auto& memory = static_cast<WatchedRange&>(node);
    // An atomic that begins from now on counts on this thread's passing the gate.
    gate.use();
    memory.region->guard();
    const RuntimeDevice* device = memory.device.get();
    if (std::less<>()(last, device) && (!next || std::less<>()(device, next.get()))) {
      next = memory.device;
    }
  });
  return next;
}

bool is_between_regions(uintptr_t begin, uintptr_t end) {
  return end > lowest.load(std::memory_order_relaxed) &&
         begin < highest.load(std::memory_order_relaxed);
}

[[gnu::noinline]] void guard_range(uintptr_t begin, uintptr_t end) {
  const int saved_errno = errno;
  const RuntimeDevice* last = nullptr;
  while (auto device = guard_overlapping(begin, end, last)) {
    // An access that took the region for plain has the device's lock.
    device->progress().wait_for_holder();
    last = device.get();
  }
  errno = saved_errno;
}

[[gnu::noinline]] size_t length_of_mapping(const void* address) {
  const int saved_errno = errno;
  const size_t length = mapping_length(address);
  errno = saved_errno;
  return length;
}

int before_unmap(const void* address, size_t length) noexcept {
  if (length == URXE_WHOLE_MAPPING) [[unlikely]]
    length = length_of_mapping(address);
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const uintptr_t end = begin + length < begin ? UINTPTR_MAX : begin + length;
  if (is_between_regions(begin, end)) guard_range(begin, end);
  return gate.enter() ? 1 : 0;
}

void after_unmap() noexcept {
  gate.leave();
}

void install_hooks() {
  static constexpr urxe_memory_hooks kHooks = {before_unmap, after_unmap};
  static std::once_flag installed;
  std::call_once(installed, [] {
    void* symbol = dlsym(RTLD_DEFAULT, "urxe_presence_v1");
    if (symbol == nullptr) return;
    const urxe_presence* presence = reinterpret_cast<urxe_presence_v1_function>(symbol)();
    if (presence->version >= 2) presence->set_memory_hooks(&kHooks);
  });
}

}  // namespace

void prepare_unmap_watch() {
  static std::once_flag prepared;
  std::call_once(prepared, [] {
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); },
                   [] {
                     // The regions are the parent's.
                     tree.clear();
                     note_bounds();
                     gate.after_fork_in_child();
                     lock.unlock();
                   });
  });
}

void watch_memory(WatchedRange& memory, MemoryRegion& region, const void* address, size_t length,
                  std::shared_ptr<RuntimeDevice> device) {
  if (length == 0) return;
  install_hooks();
  memory.begin = reinterpret_cast<uintptr_t>(address);
  memory.end = memory.begin + length;
  memory.region = &region;
  memory.device = std::move(device);
  std::lock_guard holder(lock);
  tree.insert(memory);
  note_bounds();
}

void unwatch_memory(WatchedRange& memory) {
  if (memory.region == nullptr) return;
  {
    std::lock_guard holder(lock);
    tree.remove(memory);
    note_bounds();
  }
  memory.region = nullptr;
  memory.device.reset();
}

UnmapGate& unmap_gate() {
  return gate;
}

void expect_guarded_atomics() {
  install_hooks();
  gate.use();
}

}  // namespace urxe
