// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/unmap_watch.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>

#include "packet/host/uncancelled.h"
#include "provider/devices/preloaded.h"
#include "provider/runtime/locks/spinlock.h"
#include "provider/runtime/memory/mapped_memory.h"
#include "provider/runtime/memory/memory_user.h"
#include "provider/runtime/memory/unmap_gate.h"

namespace urxe {
namespace {

constexpr uint32_t kFirstWithHooks = 9;

// A leaf: nothing is taken or waited for with it held, except in fork(), which holds it throughout.
constinit Spinlock lock;
constinit std::atomic<pthread_t> forking{};  // the thread that is in fork(), if any
constinit RangeTree tree;                    // under the lock
constinit uint64_t last_serial = 0;          // under the lock
constinit UnmapGate gate;
constinit std::atomic<void (*)()> barrier{nullptr};

/// Holds the lock. Handlers of fork() may free memory, but the thread that runs them holds the lock
/// already.
class Holder {
 public:
  Holder() {
    if (!is_forking_) lock.lock();
  }
  ~Holder() {
    if (!is_forking_) lock.unlock();
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  const bool is_forking_ = forking.load(std::memory_order_relaxed) == pthread_self();
};

void begin_fork() {
  lock.lock();
  forking.store(pthread_self(), std::memory_order_relaxed);
}

void end_fork() {
  forking.store(pthread_t{}, std::memory_order_relaxed);
  lock.unlock();
}

/// Addresses in a set all lie between two bounds. Under the lock; read without.
struct Bounds {
  std::atomic<uintptr_t> lowest{0};
  std::atomic<uintptr_t> highest{0};

  void set(uintptr_t low, uintptr_t high) {
    lowest.store(low, std::memory_order_relaxed);
    highest.store(high, std::memory_order_relaxed);
  }
  void include(uintptr_t begin, uintptr_t end) {
    const bool none = highest.load() == 0;
    set(none ? begin : std::min(lowest.load(), begin), std::max(highest.load(), end));
  }
  [[nodiscard]] bool may_have(uintptr_t begin, uintptr_t end) const {
    return end > lowest.load(std::memory_order_relaxed) &&
           begin < highest.load(std::memory_order_relaxed);
  }
};
constinit Bounds regions;    // of the ranges in the tree
constinit Bounds uncertain;  // of memory that may be uncertain

void note_bounds() {
  regions.set(tree.lowest(), tree.highest());
  if (tree.highest() == 0) uncertain.set(0, 0);
}

struct Pages {
  uintptr_t begin;
  uintptr_t end;
};

/// All pages that have a byte of the range.
Pages pages_of(const void* address, size_t length) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const bool wraps = begin + length < begin || begin + length > UINTPTR_MAX - page;
  const uintptr_t end = wraps ? UINTPTR_MAX : begin + length;
  return {begin & ~(page - 1), wraps ? end : (end + page - 1) & ~(page - 1)};
}

void mark(WatchedRange& memory, const Pages& pages, Loss loss) {
  const uintptr_t begin = std::max(memory.begin, pages.begin);
  const uintptr_t end = std::min(memory.end, pages.end);
  memory.region->losses.lose(begin, end, loss);
  if (loss != Loss::kUncertain) return;
  // An atomic that begins from now on counts on this thread's passing the gate.
  gate.use();
  uncertain.include(begin, end);
}

/// Marks the loss in all regions that have some of the pages and are not newer than `newest`.
/// Returns the user of one of them: of those whose address is above `last`, the one with the
/// lowest; null: there is none. The caller leaves it (MemoryUser::leave()).
MemoryUser* lose(const Pages& pages, Loss loss, uint64_t newest, const MemoryUser* last) {
  const Holder holder;
  MemoryUser* next = nullptr;
  tree.visit_overlapping(pages.begin, pages.end, [&](RangeTree::Node& node) {
    auto& memory = static_cast<WatchedRange&>(node);
    if (memory.serial > newest) return;
    mark(memory, pages, loss);
    const bool is_next =
        std::less<>()(last, memory.user) && (next == nullptr || std::less<>()(memory.user, next));
    if (is_next) next = memory.user;
  });
  if (next != nullptr) next->enter();
  return next;
}

/// False: no region has any of the pages.
[[gnu::noinline]] bool lose_range(const Pages& pages, Loss loss, uint64_t newest = UINT64_MAX) {
  const int saved_errno = errno;
  const MemoryUser* last = nullptr;
  while (MemoryUser* user = lose(pages, loss, newest, last)) {
    user->wait_for_accesses();  // one that has not seen the loss may be under way
    last = user;
    user->leave();
  }
  errno = saved_errno;
  return last != nullptr;
}

/// Regions that were registered since lose_range() have nothing that is going.
[[gnu::noinline]] void settle(const Pages& pages, bool gone) {
  const Holder holder;
  tree.visit_overlapping(pages.begin, pages.end, [&](RangeTree::Node& node) {
    auto& memory = static_cast<WatchedRange&>(node);
    memory.region->losses.settle(std::max(memory.begin, pages.begin),
                                 std::min(memory.end, pages.end), gone);
  });
}

[[gnu::noinline]] size_t length_of_mapping(const void* address) {
  const Uncancelled uncancelled;
  const int saved_errno = errno;
  const size_t length = mapping_length(address);
  errno = saved_errno;
  return length;
}

// What before_unmap() has begun.
constexpr int kEnteredGate = 1;
constexpr int kMarkedGoing = 2;

int before_unmap(const void* address, size_t* length, int loss) noexcept {
  if (void (*const call)() = barrier.load(std::memory_order_relaxed); call != nullptr) call();
  if (*length == URXE_WHOLE_MAPPING) [[unlikely]]
    *length = length_of_mapping(address);
  const Pages pages = pages_of(address, *length);
  int begun = 0;
  if (regions.may_have(pages.begin, pages.end)) {
    const bool goes = loss == URXE_GONE;
    const bool lost = lose_range(pages, goes ? Loss::kGoing : Loss::kUncertain);
    if (lost && goes) begun |= kMarkedGoing;
  }
  if (gate.enter()) begun |= kEnteredGate;
  return begun;
}

void after_unmap(int begun, const void* address, size_t length, int unchanged) noexcept {
  if ((begun & kMarkedGoing) != 0) settle(pages_of(address, length), unchanged == 0);
  if ((begun & kEnteredGate) != 0) gate.leave();
}

/// A page with a byte of a block in use stays mapped.
void after_allocation(const void* block, size_t length, int same) noexcept {
  const Pages pages = pages_of(block, length);
  if (!uncertain.may_have(pages.begin, pages.end) && same == 0) [[likely]]
    return;
  const Holder holder;
  tree.visit_overlapping(pages.begin, pages.end, [&](RangeTree::Node& node) {
    MemoryLosses& losses = static_cast<WatchedRange&>(node).region->losses;
    losses.regain(pages.begin, pages.end, Loss::kUncertain);
    if (same != 0) losses.regain(pages.begin, pages.end, Loss::kGoing);
  });
}

uint64_t this_moment() noexcept {
  const Holder holder;
  return last_serial;
}

void after_unloading(const void* address, size_t length, uint64_t moment) noexcept {
  const Pages pages = pages_of(address, length);
  if (regions.may_have(pages.begin, pages.end)) lose_range(pages, Loss::kGone, moment);
}

void install_hooks() {
  static constexpr urxe_memory_hooks kHooks = {before_unmap, after_unmap, after_allocation,
                                               this_moment, after_unloading};
  static std::once_flag installed;
  std::call_once(installed, [] {
    const urxe_presence* const presence = find_presence(kFirstWithHooks);
    if (presence != nullptr) presence->set_memory_hooks(&kHooks);
  });
}

}  // namespace

void prepare_unmap_watch() {
  static std::once_flag prepared;
  std::call_once(prepared, [] {
    pthread_atfork(begin_fork, end_fork, [] {
      // The regions are the parent's.
      tree.clear();
      note_bounds();
      gate.after_fork_in_child();
      end_fork();
    });
  });
}

void watch_memory(WatchedRange& memory, MemoryRegion& region, const void* address, size_t length,
                  MemoryUser& user) {
  if (length == 0) return;
  install_hooks();
  memory.begin = reinterpret_cast<uintptr_t>(address);
  memory.end = memory.begin + length;
  memory.region = &region;
  memory.user = &user;
  const Holder holder;
  memory.serial = ++last_serial;
  tree.insert(memory);
  note_bounds();
}

void unwatch_memory(WatchedRange& memory) {
  if (memory.region == nullptr) return;
  {
    const Holder holder;
    tree.remove(memory);
    note_bounds();
  }
  memory.region = nullptr;
  memory.user = nullptr;
}

void watch_unmapping(void (*call)()) {
  barrier.store(call);
  install_hooks();
}

UnmapGate& unmap_gate() {
  return gate;
}

void expect_guarded_atomics() {
  install_hooks();
  gate.use();
}

}  // namespace urxe
