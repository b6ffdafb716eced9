// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <span>

#include "provider/runtime/memory/mapped_memory.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// Finds the memory of a scatter/gather element. Returns 0, or the errno of why it cannot be
/// prefetched. With the device's lock held.
int find_memory(const Pd& pd, const ibv_sge& sge, bool for_writing, void** at) {
  const Device& device = pd.owner->device().device();
  const MemoryRegion* region = device.find_memory(LKey(sge.lkey));
  if (region == nullptr) return device.is_window(RKey(sge.lkey)) ? EINVAL : ENOENT;
  if (region->pd != pd.id) return EPERM;
  if (region->backing != Backing::kOnDemand) return EINVAL;
  if (for_writing && (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) return EPERM;
  const uint64_t offset = sge.addr - region->iova;
  if (sge.addr < region->iova || offset > region->length || sge.length > region->length - offset) {
    return EFAULT;
  }
  *at = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(region->host) + offset);
  return 0;
}

/// At once, with or without IBV_ADVISE_MR_FLAG_FLUSH: it takes no round trip to a device.
int prefetch(const Pd& pd, ibv_advise_mr_advice advice, const ibv_sge& sge) {
  const bool for_writing = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
  void* at = nullptr;
  {
    RuntimeDevice::Guard guard(pd.owner->device());
    if (int wrong = find_memory(pd, sge, for_writing, &at); wrong != 0) return wrong;
  }
  // The addresses are the process's own: pages that are present need nothing.
  if (advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return 0;
  return check_mapped(at, sge.length, for_writing);
}

}  // namespace

int advise_mr(ibv_pd* handle, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list,
              uint32_t count) noexcept {
  const Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return ENODEV;
  if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
      advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
    return ENOTSUP;
  }
  if ((flags & ~uint32_t{IBV_ADVISE_MR_FLAG_FLUSH}) != 0) return EINVAL;
  if (count == 0 || list == nullptr) return EINVAL;
  for (const ibv_sge& sge : std::span(list, count)) {
    if (int wrong = prefetch(pd, advice, sge); wrong != 0) return wrong;
  }
  return 0;
}

}  // namespace urxe
