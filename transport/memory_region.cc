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
  regions_.emplace_back();  // index 0 is no key: a zeroed lkey never matches
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
  const MemoryRegion* last = regions_[index].get();
  if (last != nullptr && (last->lkey.value() & 0xff) == variant) variant = (variant + 1) & 0xff;
  return (index << 8) | variant;
}

Expected<MemoryRegion*, Errno> MemoryTable::add(PdId pd, uint8_t* host, uint64_t length,
                                                uint64_t iova, int access) {
  if (auto ok = check_arguments(length, iova, host, access); !ok) return error(ok.error().value);
  if (count_ >= static_cast<size_t>(kMaxRegions)) return error(ENOMEM);
  uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<uint32_t>(regions_.size());
    regions_.push_back(std::make_unique<MemoryRegion>());
    free_.reserve(regions_.size());
  } else {
    index = free_.back();
    free_.pop_back();
  }
  MemoryRegion& region = *regions_[index];
  const uint32_t key = new_key(index);
  region = {LKey(key), RKey(key), pd, host, iova, length, access, true};
  ++count_;
  return &region;
}

void MemoryTable::remove(MemoryRegion* region) {
  region->valid = false;
  free_.push_back(region->lkey.value() >> 8);
  --count_;
}

Expected<void, Errno> MemoryTable::replace(MemoryRegion& region, PdId pd, uint8_t* host,
                                           uint64_t length, uint64_t iova, int access) {
  if (auto ok = check_arguments(length, iova, host, access); !ok) return ok;
  const uint32_t key = new_key(region.lkey.value() >> 8);
  region = {LKey(key), RKey(key), pd, host, iova, length, access, true};
  return {};
}

const MemoryRegion* MemoryTable::find(uint32_t key) const {
  const uint32_t index = key >> 8;
  if (index >= regions_.size() || !regions_[index]) return nullptr;
  const MemoryRegion& region = *regions_[index];
  return region.valid && region.lkey.value() == key ? &region : nullptr;
}

uint8_t* MemoryTable::local(PdId pd, const Sge& sge, bool write) const {
  const MemoryRegion* region = find(sge.lkey.value());
  if (region == nullptr || region->pd != pd) return nullptr;
  if (write && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return nullptr;
  if (!range_is_inside(*region, sge.addr, sge.length)) return nullptr;
  return region->host + (sge.addr - region->iova);
}

uint8_t* MemoryTable::remote(PdId pd, RKey rkey, uint64_t va, uint64_t length, int access) const {
  const MemoryRegion* region = find(rkey.value());
  if (region == nullptr || region->pd != pd || (region->access & access) != access) return nullptr;
  if (!range_is_inside(*region, va, length)) return nullptr;
  return region->host + (va - region->iova);
}

bool MemoryTable::invalidate(PdId pd, RKey rkey) {
  (void)pd;
  (void)rkey;
  return false;
}

}  // namespace urxe
