// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/memory_region.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <utility>

#include "transport/limits.h"

namespace urxe {
namespace {

bool range_is_inside(const MemoryRegion& region, uint64_t va, uint64_t length) {
  return va >= region.iova && length <= region.length && va - region.iova <= region.length - length;
}

Expected<void, Errno> check(const RegionRequest& request) {
  if (!MemoryTable::access_is_valid(request.access)) return error(EINVAL);
  const auto start = reinterpret_cast<uintptr_t>(request.host);
  // A region may end with the last address.
  const uint64_t to_last = request.length == 0 ? 0 : request.length - 1;
  if (request.iova + to_last < request.iova || start + to_last < start) return error(EINVAL);
  return {};
}

/// How to access pinned memory.
HostMemory::Kind kind_after(Loss loss) {
  switch (loss) {
    case Loss::kUncertain:
      return HostMemory::Kind::kGuarded;
    case Loss::kGoing:
    case Loss::kGone:
      return HostMemory::Kind::kRefused;
    default:
      return HostMemory::Kind::kPlain;
  }
}

void fill(MemoryRegion& region, const RegionRequest& request) {
  region.pd = request.pd;
  region.host = request.host;
  region.iova = request.iova;
  region.length = request.length;
  region.access = request.access;
  region.backing = request.backing;
  region.losses.forget();
}

/// Also for a region of the whole address space, which begins at the null pointer.
uint8_t* add_offset(uint8_t* host, uint64_t offset) {
  return reinterpret_cast<uint8_t*>(reinterpret_cast<uintptr_t>(host) + offset);
}

HostMemory memory_at(const MemoryRegion& region, uint64_t offset, uint64_t length) {
  uint8_t* at = add_offset(region.host, offset);
  if (region.backing == Backing::kOnDemand) return {at, HostMemory::Kind::kGuarded};
  if (region.backing == Backing::kNull) return {at, HostMemory::Kind::kNull};
  if (!region.losses.any()) [[likely]]
    return {at, HostMemory::Kind::kPlain};
  const auto begin = reinterpret_cast<uintptr_t>(at);
  const HostMemory::Kind kind = kind_after(region.losses.worst(begin, begin + length));
  if (kind == HostMemory::Kind::kRefused) return HostMemory::refused(Check::kNotMapped);
  return {at, kind};
}

}  // namespace

MemoryTable::MemoryTable(const SipKey& secret, const GuardedAccess& guarded)
    : keys_(secret), guarded_(guarded) {}

bool MemoryTable::access_is_valid(int access) {
  constexpr int kNeedsLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (access & kNeedsLocalWrite) == 0 || (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

uint32_t MemoryTable::new_key() {
  for (;;) {
    const uint32_t key = keys_.next();
    if (regions_.find(key >> 8) == nullptr && windows_.find(key >> 8) == nullptr) return key;
  }
}

Expected<MemoryRegion*, Errno> MemoryTable::add(const RegionRequest& request) {
  if (auto ok = check(request); !ok) return error(ok.error().value);
  if (regions_.size() >= static_cast<size_t>(kMaxRegions)) return error(ENOMEM);
  const uint32_t key = new_key();
  MemoryRegion* region = regions_.insert(key >> 8, std::make_shared<MemoryRegion>());
  region->lkey = LKey(key);
  region->rkey = RKey(key);
  fill(*region, request);
  return region;
}

Expected<void, Errno> MemoryTable::remove(MemoryRegion* region) {
  if (region->windows != 0) return error(EBUSY);
  regions_.erase(region->lkey.value() >> 8);
  return {};
}

Expected<void, Errno> MemoryTable::replace(MemoryRegion& region, const RegionRequest& request) {
  if (auto ok = check(request); !ok) return ok;
  if (region.windows != 0) return error(EBUSY);
  fill(region, request);
  return {};
}

MemoryRegion* MemoryTable::find(uint32_t key) const {
  MemoryRegion* region = regions_.find(key >> 8);
  return region != nullptr && region->lkey.value() == key ? region : nullptr;
}

HostMemory MemoryTable::local(PdId pd, const Sge& sge, bool write) const {
  const MemoryRegion* region = find(sge.lkey.value());
  if (region == nullptr) return HostMemory::refused(Check::kUnknownKey);
  if (region->pd != pd) return HostMemory::refused(Check::kOtherDomain);
  if (write && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return HostMemory::refused(Check::kRights);
  }
  const bool has_all_addresses = region->backing == Backing::kNull;
  if (!has_all_addresses && !range_is_inside(*region, sge.addr, sge.length)) {
    return HostMemory::refused(Check::kBounds);
  }
  return memory_at(*region, sge.addr - region->iova, sge.length);
}

HostMemory MemoryTable::remote(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                               int access) const {
  if (const MemoryRegion* region = find(rkey.value())) {
    if (region->pd != pd) return HostMemory::refused(Check::kOtherDomain);
    if ((region->access & access) != access) return HostMemory::refused(Check::kRights);
    if (!range_is_inside(*region, va, length)) return HostMemory::refused(Check::kBounds);
    return memory_at(*region, va - region->iova, length);
  }
  return remote_by_window(pd, qpn, rkey, va, length, access);
}

void MemoryTable::share(const MemoryTable& from, uint32_t key) {
  const uint32_t name = key >> 8;
  if (auto region = from.regions_.share(name)) regions_.insert(name, std::move(region));
  if (auto window = from.windows_.share(name)) windows_.insert(name, std::move(window));
}

void MemoryTable::forget(uint32_t key) {
  const uint32_t name = key >> 8;
  if (regions_.find(name) != nullptr) regions_.erase(name);
  if (windows_.find(name) != nullptr) windows_.erase(name);
}

void MemoryTable::share_all(const MemoryTable& from) {
  from.regions_.for_each([&](const MemoryRegion& region) { share(from, region.lkey.value()); });
  from.windows_.for_each([&](const MemoryWindow& window) { share(from, window.rkey.value()); });
}

uint64_t MemoryTable::first_address(RKey rkey) const {
  if (const MemoryRegion* region = find(rkey.value())) return region->iova;
  const MemoryWindow* window = hold_window(rkey.value() >> 8);
  const uint64_t address = window != nullptr && window->rkey == rkey ? window->va : 0;
  release_window();
  return address;
}

HostMemory MemoryTable::remote_by_window(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                                         int access) const {
  const MemoryWindow* window = hold_window(rkey.value() >> 8);
  if (window == nullptr || window->rkey != rkey) return HostMemory::refused(Check::kUnknownKey);
  if (window->pd != pd) return HostMemory::refused(Check::kOtherDomain);
  if (window->region == nullptr) return HostMemory::refused(Check::kNotBound);
  if (window->type == IBV_MW_TYPE_2 && window->qpn != qpn) {
    return HostMemory::refused(Check::kOtherQueuePair);
  }
  if ((window->access & access) != access) return HostMemory::refused(Check::kRights);
  if (va < window->va || length > window->length || va - window->va > window->length - length) {
    return HostMemory::refused(Check::kBounds);
  }
  return memory_at(*window->region, window->offset + (va - window->va), length);
}

}  // namespace urxe
