// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/access_check.h"

#include <infiniband/verbs.h>

namespace urxe {
namespace {

bool is_inside(uint64_t begin, uint64_t size, uint64_t va, uint64_t length) {
  return va >= begin && length <= size && va - begin <= size - length;
}

Check check_window(const MemoryWindow& window, PdId pd, Qpn qpn, uint64_t va, uint64_t length,
                   int access) {
  if (window.pd != pd) return Check::kOtherDomain;
  if (window.region == nullptr) return Check::kNotBound;
  if (window.type == IBV_MW_TYPE_2 && window.qpn != qpn) return Check::kOtherQueuePair;
  if ((window.access & access) != access) return Check::kRights;
  return is_inside(window.va, window.length, va, length) ? Check::kNone : Check::kBounds;
}

}  // namespace

Check failing_local_check(const MemoryTable& memory, PdId pd, const Sge& sge, bool write) {
  const MemoryRegion* const region = memory.find(sge.lkey.value());
  if (region == nullptr) return Check::kUnknownKey;
  if (region->pd != pd) return Check::kOtherDomain;
  if (write && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return Check::kRights;
  const bool fits = region->backing == Backing::kNull ||
                    is_inside(region->iova, region->length, sge.addr, sge.length);
  if (!fits) return Check::kBounds;
  return memory.local(pd, sge, write) ? Check::kNone : Check::kNotMapped;
}

Check failing_remote_check(const MemoryTable& memory, PdId pd, Qpn qpn, RKey rkey, uint64_t va,
                           uint64_t length, int access) {
  if (const MemoryRegion* const region = memory.find(rkey.value())) {
    if (region->pd != pd) return Check::kOtherDomain;
    if ((region->access & access) != access) return Check::kRights;
    if (!is_inside(region->iova, region->length, va, length)) return Check::kBounds;
  } else {
    const MemoryWindow* const window = memory.find_window(rkey);
    if (window == nullptr) return Check::kUnknownKey;
    const Check check = check_window(*window, pd, qpn, va, length, access);
    if (check != Check::kNone) return check;
  }
  return memory.remote(pd, qpn, rkey, va, length, access) ? Check::kNone : Check::kNotMapped;
}

}  // namespace urxe
