// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/runtime/memory/guarded_access.h"
#include "provider/runtime/memory/mapped_memory.h"
#include "provider/verbs/memory/mr_objects.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

constexpr int kKnownMrAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                               IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
                               IBV_ACCESS_HUGETLB | kAccessFlushGlobal;

/// Rights to a region that may lead to atomic accesses: also by ATOMIC WRITE, and through a window.
constexpr int kMayBeAtomic =
    IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;

/// A region's memory and rights. The provider checks what the transport cannot.
struct Span {
  uint8_t* host = nullptr;
  size_t length = 0;
  uint64_t iova = 0;
  int access = 0;

  [[nodiscard]] bool on_demand() const { return (access & IBV_ACCESS_ON_DEMAND) != 0; }
  [[nodiscard]] bool implicit() const { return host == nullptr && length == SIZE_MAX; }
};

/// Checks the access flags by themselves, as the kernel does: the optional ones, bits 20 to 29, are
/// ignored. Nothing here keeps memory over a loss of power.
int check_access(int access) {
  if ((access & kAccessFlushPersistent) != 0) return EOPNOTSUPP;
  if ((access & ~(kKnownMrAccess | IBV_ACCESS_OPTIONAL_RANGE)) != 0) return EINVAL;
  if (!MemoryTable::access_is_valid(mr_rights(access))) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0 && !guarded_access_works()) return EOPNOTSUPP;
  return 0;
}

/// As in the kernel, a region must touch a page and must not wrap around. On-demand memory need not
/// be mapped, and may be the whole address space.
int check_memory(const Span& span) {
  if (span.on_demand() && span.implicit()) return span.iova == 0 ? 0 : EINVAL;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(span.host);
  if (span.length == 0 && start % page == 0) return EINVAL;
  if (start + span.length < start) return EINVAL;
  if (span.on_demand()) return 0;
  return check_mapped(span.host, span.length, (span.access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

int check(const Span& span) {
  const int wrong = check_access(span.access);
  return wrong != 0 ? wrong : check_memory(span);
}

Backing backing_of(const Span& span) {
  return span.on_demand() ? Backing::kOnDemand : Backing::kPinned;
}

/// Watches for calls of the application that take the region's memory away. With the device's lock
/// held.
void watch(Mr& mr, const Span& span) {
  if (!span.on_demand()) {
    watch_memory(mr.watched, *mr.region, span.host, span.length, mr.owner->device().memory_user());
  } else if ((span.access & kMayBeAtomic) != 0) {
    expect_guarded_atomics();
  }
}

/// The region as it will be after a change.
Span changed_span(const Mr& mr, int flags, void* addr, size_t length, int access) {
  const MemoryRegion& now = *mr.region;
  Span span{now.host, now.length, now.iova, mr.access};
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) span.access = access;
  if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
    span.host = static_cast<uint8_t*>(addr);
    span.length = length;
    span.iova = reinterpret_cast<uintptr_t>(addr);
  }
  if ((span.access & IBV_ACCESS_ZERO_BASED) != 0) {
    span.iova = 0;
  } else if ((mr.access & IBV_ACCESS_ZERO_BASED) != 0) {
    span.iova = reinterpret_cast<uintptr_t>(span.host);
  }
  return span;
}

int change(Mr& mr, PdId pd, const Span& span) {
  RuntimeDevice::Guard guard(mr.owner->device());
  auto changed = mr.owner->device().device().reregister_memory(
      *mr.region, pd, span.host, span.length, span.iova, mr_rights(span.access), backing_of(span));
  if (!changed) return changed.error().value;
  unwatch_memory(mr.watched);
  mr.access = span.access;
  watch(mr, span);
  return 0;
}

}  // namespace

int mr_rights(int access) {
  return access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | kAccessFlushGlobal);
}

void attach_region(Mr& mr, Pd& pd, MemoryRegion* region) {
  mr.owner = pd.owner;
  mr.domain = DomainUse(pd);
  mr.region = region;
  mr.mr.context = pd.context;
  mr.mr.pd = &pd;
  mr.mr.lkey = region->lkey.value();
  mr.mr.rkey = region->rkey.value();
  mr.mr.handle = admit(mr, region->lkey.value() >> 8);
  pd.owner->mrs.push_back(mr);
}

ibv_mr* reg_mr(ibv_pd* handle, void* addr, size_t length, uint64_t iova, int access) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
  const Span span{static_cast<uint8_t*>(addr), length, iova, access};
  if (int wrong = check(span); wrong != 0) return fail(wrong);
  try {
    auto mr = std::make_unique<Mr>();
    RuntimeDevice::Guard guard(pd.owner->device());
    auto region = pd.owner->device().device().register_memory(pd.id, span.host, length, iova,
                                                              mr_rights(access), backing_of(span));
    if (!region) return fail(region.error().value);
    attach_region(*mr, pd, *region);
    mr->mr_type = abi::kMr;
    mr->access = access;
    watch(*mr, span);
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

ibv_mr* reg_mr_ex(ibv_pd* pd, abi::MrInitAttr* init) noexcept {
  using abi::MrInitAttr;
  const uint64_t given = init->comp_mask;
  if ((given & ~MrInitAttr::kKnown) != 0) return fail(EOPNOTSUPP);
  const bool has_iova = (given & MrInitAttr::kIova) != 0;
  if ((given & MrInitAttr::kFd) != 0) {
    if (given != (MrInitAttr::kFd | MrInitAttr::kFdOffset | MrInitAttr::kIova)) return fail(EINVAL);
    return reg_dmabuf_mr(pd, init->fd_offset, init->length, init->iova, init->fd, init->access);
  }
  if ((given & MrInitAttr::kAddr) == 0 || (given & MrInitAttr::kFdOffset) != 0) return fail(EINVAL);
  const uint64_t iova = has_iova ? init->iova : reinterpret_cast<uintptr_t>(init->addr);
  return reg_mr(pd, init->addr, init->length, iova, init->access);
}

ibv_mr* alloc_null_mr(ibv_pd* handle) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  try {
    auto mr = std::make_unique<Mr>();
    RuntimeDevice::Guard guard(pd.owner->device());
    auto region = pd.owner->device().device().register_memory(
        pd.id, nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE, Backing::kNull);
    if (!region) return fail(region.error().value);
    attach_region(*mr, pd, *region);
    mr->mr.length = SIZE_MAX;
    mr->mr_type = abi::kNullMr;
    mr->access = IBV_ACCESS_LOCAL_WRITE;
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

int rereg_mr(abi::VerbsMr* handle, int flags, ibv_pd* new_pd, void* addr, size_t length,
             int access) noexcept {
  Mr& mr = mr_of(handle);
  if (mr.owner->is_forked()) return ENODEV;
  if (flags == 0) return EINVAL;
  if (mr.dma_buf.bytes() != nullptr) return EOPNOTSUPP;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if (changes_pd && (new_pd == nullptr || !is_handle_of(*mr.owner, new_pd))) {
    return EINVAL;
  }
  const Span span = changed_span(mr, flags, addr, length, access);
  if (int wrong = check(span); wrong != 0) return wrong;
  const int wrong = change(mr, changes_pd ? pd_of(new_pd).id : mr.region->pd, span);
  if (wrong != 0) return wrong;
  if (changes_pd) mr.domain = DomainUse(pd_of(new_pd));
  return 0;
}

void end_mr(Mr& mr) {
  unwatch_memory(mr.watched);
  if (mr.region != nullptr) {
    (void)mr.owner->device().device().deregister_memory(mr.region);
  }
  if (mr.device_memory != nullptr) --mr.device_memory->regions;
  mr.dma_buf = DmaBuf();
  mr.owner->mrs.remove(mr);
}

int dereg_mr(abi::VerbsMr* handle) noexcept {
  Mr& mr = mr_of(handle);
  if (!mr.owner->is_forked()) {
    RuntimeDevice::Guard guard(mr.owner->device());
    if (mr.region->windows != 0) return EBUSY;
    end_mr(mr);
  }
  mr.domain = DomainUse();
  mr.owner->retired.add(mr);
  return 0;
}

}  // namespace urxe
