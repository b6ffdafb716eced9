// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <cerrno>
#include <new>

#include "provider/verbs/mapped_memory.h"
#include "provider/verbs/objects.h"

namespace urxe {
namespace {

constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                             IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND |
                             IBV_ACCESS_HUGETLB;

/// A region's memory and rights, checked as far as the transport cannot.
struct Span {
  uint8_t* host = nullptr;
  size_t length = 0;
  uint64_t iova = 0;
  int access = 0;
};

int check_access(int access) {
  if ((access & ~(kKnownAccess | IBV_ACCESS_OPTIONAL_RANGE)) != 0) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return EOPNOTSUPP;
  return 0;
}

/// As the kernel has it: the region must touch a page, and may not wrap around.
int check_memory(const Span& span) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(span.host);
  if (span.length == 0 && start % page == 0) return EINVAL;
  if (start + span.length < start) return EINVAL;
  return check_mapped(span.host, span.length, (span.access & IBV_ACCESS_LOCAL_WRITE) != 0);
}

/// What the transport enforces of the flags; the rest are hints.
int rights(int access) {
  return access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
}

void show_keys(Mr& mr) {
  mr.mr.lkey = mr.region->lkey.value();
  mr.mr.rkey = mr.region->rkey.value();
  mr.mr.handle = mr.region->lkey.value() >> 8;
}

ibv_mr* fail(int errno_value) {
  errno = errno_value;
  return nullptr;
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
  if ((span.access & IBV_ACCESS_ZERO_BASED) != 0) span.iova = 0;
  return span;
}

}  // namespace

ibv_mr* reg_mr(ibv_pd* handle, void* addr, size_t length, uint64_t iova, int access) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  if (int wrong = check_access(access); wrong != 0) return fail(wrong);
  if ((access & IBV_ACCESS_ZERO_BASED) != 0) iova = 0;
  const Span span{static_cast<uint8_t*>(addr), length, iova, access};
  if (!MemoryTable::access_is_valid(rights(access))) return fail(EINVAL);
  if (int wrong = check_memory(span); wrong != 0) return fail(wrong);
  try {
    auto mr = std::make_unique<Mr>();
    Progress::Guard guard(pd.owner->progress());
    auto region =
        pd.owner->device().device().register_memory(pd.id, span.host, length, iova, rights(access));
    if (!region) return fail(region.error().value);
    mr->owner = pd.owner;
    mr->region = *region;
    mr->mr_type = abi::kMr;
    mr->access = access;
    show_keys(*mr);
    pd.owner->mrs.push_back(*mr);
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

ibv_mr* reg_dmabuf_mr(ibv_pd* /*pd*/, uint64_t /*offset*/, size_t /*length*/, uint64_t /*iova*/,
                      int /*fd*/, int /*access*/) noexcept {
  return fail(EOPNOTSUPP);
}

int rereg_mr(abi::VerbsMr* handle, int flags, ibv_pd* new_pd, void* addr, size_t length,
             int access) noexcept {
  Mr& mr = mr_of(handle);
  if (mr.owner->is_forked()) return ENODEV;
  const bool changes_pd = (flags & IBV_REREG_MR_CHANGE_PD) != 0;
  if (changes_pd && (new_pd == nullptr || pd_of(new_pd).owner != mr.owner)) return EINVAL;
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
    if (int wrong = check_access(access); wrong != 0) return wrong;
  }
  const Span span = changed_span(mr, flags, addr, length, access);
  if (int wrong = check_memory(span); wrong != 0) return wrong;
  try {
    Progress::Guard guard(mr.owner->progress());
    const PdId pd = changes_pd ? pd_of(new_pd).id : mr.region->pd;
    auto changed = mr.owner->device().device().reregister_memory(
        *mr.region, pd, span.host, span.length, span.iova, rights(span.access));
    if (!changed) return changed.error().value;
    mr.access = span.access;
    show_keys(mr);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void end_mr(Mr& mr) {
  (void)mr.owner->device().device().deregister_memory(mr.region);
  mr.owner->mrs.remove(mr);
}

int dereg_mr(abi::VerbsMr* handle) noexcept {
  Mr& mr = mr_of(handle);
  if (!mr.owner->is_forked()) {
    Progress::Guard guard(mr.owner->progress());
    auto removed = mr.owner->device().device().deregister_memory(mr.region);
    if (!removed) return removed.error().value;
    mr.owner->mrs.remove(mr);
  }
  delete &mr;
  return 0;
}

}  // namespace urxe
