// SPDX-License-Identifier: BSD-2-Clause
// The memory windows of a MemoryTable (IBTA vol. 1, 10.6.7).
#include <cerrno>

#include "transport/later_verbs.h"
#include "transport/limits.h"
#include "transport/memory/memory_region.h"

namespace urxe {
namespace {

constexpr int kWriteRights = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

/// The part of a key that a bind chooses.
constexpr uint32_t kKeyBits = 8;
constexpr uint32_t kKeyMask = (1U << kKeyBits) - 1;

uint32_t name_of(RKey key) {
  return key.value() >> kKeyBits;
}

/// Ends what MemoryTable::hold_window() began.
struct Release {
  const MemoryTable& table;
  ~Release() { table.release_window(); }
};

void unbind(MemoryWindow& window) {
  if (window.region == nullptr) return;
  --window.region->windows;
  window.region = nullptr;
}

/// 10.6.7.2: the region allows windows and contains the range, and a window grants remote writes
/// only if the region allows local ones. That a region's memory can be flushed is the region's own
/// right: a window grants it only if the region does.
bool region_allows(const MemoryRegion& region, const BindRequest& request) {
  if ((region.access & IBV_ACCESS_MW_BIND) == 0) return false;
  if ((request.access & kWriteRights) != 0 && (region.access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return false;
  }
  constexpr int kFlushRights = kAccessFlushGlobal | kAccessFlushPersistent;
  if ((request.access & kFlushRights & ~region.access) != 0) return false;
  return request.va >= region.iova && request.length <= region.length &&
         request.va - region.iova <= region.length - request.length;
}

}  // namespace

/// Finds a window and locks it. It stays locked until the next call, or release_window(): so a
/// table never has two locks, and tables cannot wait for each other.
MemoryWindow* MemoryTable::hold_window(uint32_t name) const {
  release_window();
  MemoryWindow* window = windows_.find(name);
  if (window == nullptr) return nullptr;
  window->lock.lock();
  held_ = window;
  return window;
}

void MemoryTable::release_window() const {
  if (held_ != nullptr) held_->lock.unlock();
  held_ = nullptr;
}

bool MemoryTable::has_window(RKey rkey) const {
  const Release release{*this};
  const MemoryWindow* window = hold_window(name_of(rkey));
  return window != nullptr && window->rkey == rkey;
}

Expected<MemoryWindow*, Errno> MemoryTable::add_window(PdId pd, ibv_mw_type type) {
  if (windows_.size() >= static_cast<size_t>(kMaxWindows)) return error(ENOMEM);
  const RKey key(new_key());
  MemoryWindow* window = windows_.insert(name_of(key), std::make_shared<MemoryWindow>());
  window->rkey = key;
  window->pd = pd;
  window->type = type;
  return window;
}

void MemoryTable::remove_window(MemoryWindow* window) {
  release_window();
  unbind(*window);
  windows_.erase(name_of(window->rkey));
}

bool MemoryTable::bind(PdId pd, Qpn qpn, const BindRequest& request) {
  const Release release{*this};
  // Not by its whole key: a bind that was flushed has not given the window its new key.
  MemoryWindow* window = hold_window(name_of(request.window));
  if (window == nullptr || window->pd != pd) return false;
  const bool type_2 = window->type == IBV_MW_TYPE_2;
  if (type_2 && (window->region != nullptr || request.length == 0)) return false;
  MemoryRegion* region = nullptr;
  if (request.length != 0) {
    region = find(request.region.value());
    if (region == nullptr || region->pd != pd || !region_allows(*region, request)) return false;
    ++region->windows;
  }
  unbind(*window);
  window->rkey = RKey(name_of(window->rkey) << kKeyBits | (request.new_key.value() & kKeyMask));
  window->region = region;
  window->qpn = qpn;
  window->va = (request.access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : request.va;
  window->offset = region == nullptr ? 0 : request.va - region->iova;
  window->length = request.length;
  window->access = request.access;
  return true;
}

bool MemoryTable::invalidate(PdId pd, Qpn qpn, RKey rkey) {
  const Release release{*this};
  MemoryWindow* window = hold_window(name_of(rkey));
  if (window == nullptr || window->rkey != rkey) return false;
  if (window->pd != pd || window->type != IBV_MW_TYPE_2) return false;
  if (window->region == nullptr || window->qpn != qpn) return false;
  unbind(*window);
  return true;
}

void MemoryTable::unbind_all(Qpn qpn) {
  release_window();
  windows_.for_each([qpn](MemoryWindow& window) {
    const ShortLock::Guard lock(window.lock);
    if (window.type == IBV_MW_TYPE_2 && window.qpn == qpn) unbind(window);
  });
}

}  // namespace urxe
