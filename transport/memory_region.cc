// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory_region.h"

#include <infiniband/verbs.h>

#include <cerrno>

#include "transport/limits.h"

namespace urxe {
namespace {

bool range_is_inside(const MemoryRegion& region, uint64_t va, uint64_t length) {
  return va >= region.iova && length <= region.length && va - region.iova <= region.length - length;
}

Expected<void, Errno> check_arguments(uint64_t length, uint64_t iova, const uint8_t* host,
                                      int access) {
  if (!MemoryTable::access_is_valid(access)) return error(EINVAL);
  const auto start = reinterpret_cast<uintptr_t>(host);
  if (iova + length < iova || start + length < start) return error(EINVAL);
  return {};
}

}  // namespace

MemoryTable::MemoryTable(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15U + 1) {
  entries_.emplace_back();  // index 0 is no key: a zeroed lkey never matches
}

bool MemoryTable::access_is_valid(int access) {
  constexpr int kNeedsLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return (access & kNeedsLocalWrite) == 0 || (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

uint32_t MemoryTable::new_key(uint32_t index) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  uint32_t variant = static_cast<uint32_t>(random_) & 0xff;
  const Entry& last = *entries_[index];
  while (variant == (last.region.lkey.value() & 0xff) ||
         variant == (last.window.rkey.value() & 0xff)) {
    variant = (variant + 1) & 0xff;
  }
  return (index << 8) | variant;
}

uint32_t MemoryTable::take_entry() {
  uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<uint32_t>(entries_.size());
    entries_.push_back(std::make_unique<Entry>());
    free_.reserve(entries_.capacity());  // so that free_entry() does not allocate
  } else {
    index = free_.back();
    free_.pop_back();
  }
  ++count_;
  return index;
}

void MemoryTable::free_entry(uint32_t key) {
  free_.push_back(key >> 8);
  --count_;
}

Expected<MemoryRegion*, Errno> MemoryTable::add(PdId pd, uint8_t* host, uint64_t length,
                                                uint64_t iova, int access) {
  if (auto ok = check_arguments(length, iova, host, access); !ok) return error(ok.error().value);
  if (count_ - window_count_ >= static_cast<size_t>(kMaxRegions)) return error(ENOMEM);
  const uint32_t index = take_entry();
  MemoryRegion& region = entries_[index]->region;
  const uint32_t key = new_key(index);
  region = {LKey(key), RKey(key), pd, host, iova, length, access, true, 0};
  return &region;
}

Expected<void, Errno> MemoryTable::remove(MemoryRegion* region) {
  if (region->windows != 0) return error(EBUSY);
  region->valid = false;
  free_entry(region->lkey.value());
  return {};
}

Expected<void, Errno> MemoryTable::replace(MemoryRegion& region, PdId pd, uint8_t* host,
                                           uint64_t length, uint64_t iova, int access) {
  if (auto ok = check_arguments(length, iova, host, access); !ok) return ok;
  if (region.windows != 0) return error(EBUSY);
  region = {region.lkey, region.rkey, pd, host, iova, length, access, true, 0};
  return {};
}

MemoryRegion* MemoryTable::find(uint32_t key) const {
  const uint32_t index = key >> 8;
  if (index >= entries_.size() || !entries_[index]) return nullptr;
  MemoryRegion& region = entries_[index]->region;
  return region.valid && region.lkey.value() == key ? &region : nullptr;
}

uint8_t* MemoryTable::local(PdId pd, const Sge& sge, bool write) const {
  const MemoryRegion* region = find(sge.lkey.value());
  if (region == nullptr || region->pd != pd) return nullptr;
  if (write && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return nullptr;
  if (!range_is_inside(*region, sge.addr, sge.length)) return nullptr;
  return region->host + (sge.addr - region->iova);
}

uint8_t* MemoryTable::remote(PdId pd, Qpn qpn, RKey rkey, uint64_t va, uint64_t length,
                             int access) const {
  if (const MemoryRegion* region = find(rkey.value())) {
    if (region->pd != pd || (region->access & access) != access) return nullptr;
    if (!range_is_inside(*region, va, length)) return nullptr;
    return region->host + (va - region->iova);
  }
  return remote_by_window(pd, qpn, rkey, va, length, access);
}

}  // namespace urxe
