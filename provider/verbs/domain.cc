// SPDX-License-Identifier: BSD-2-Clause
// Thread domains and parent domains.
#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

// IBV_PARENT_DOMAIN_INIT_ATTR_ALLOW_CC_UNPROTECTED_ALLOC of rdma-core 65: in a confidential guest
// the device may allocate memory that the host can read. urxe's device needs none.
constexpr uint32_t kAllowUnprotectedAlloc = 1U << 2U;

int check_init(const Context& owner, const ibv_parent_domain_init_attr& init) {
  constexpr uint32_t kKnown = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
                              IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT | kAllowUnprotectedAlloc;
  if ((init.comp_mask & ~kKnown) != 0) return EINVAL;
  // Custom allocators are for memory that is shared with a device. There is none, so they are not
  // called; without both functions they are wrong nonetheless.
  const bool allocates = (init.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0;
  if (allocates && (init.alloc == nullptr || init.free == nullptr)) return EINVAL;
  if (init.pd == nullptr || !is_handle_of(owner, init.pd) || pd_of(init.pd).base != nullptr) {
    return EINVAL;
  }
  return init.td == nullptr || is_handle_of(owner, init.td) ? 0 : EINVAL;
}

}  // namespace

bool same_domain(ibv_pd* a, ibv_pd* b) {
  if (a == b) return true;
  return &pd_of(a).owner->device() == &pd_of(b).owner->device() && pd_of(a).id == pd_of(b).id;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (init->comp_mask != 0) return fail(EINVAL);
  Td* td = new (std::nothrow) Td;
  if (td == nullptr) return fail(ENOMEM);
  td->context = context;
  td->owner = &owner;
  admit(*td);
  return td;
}

int dealloc_td(ibv_td* handle) noexcept {
  Td& td = td_of(handle);
  if (td.users.load() != 0) return EBUSY;
  td.owner->retired.add(td);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (int wrong = check_init(owner, *init); wrong != 0) return fail(wrong);
  Pd* pd = new (std::nothrow) Pd;
  if (pd == nullptr) return fail(ENOMEM);
  pd->context = context;
  pd->owner = &owner;
  pd->base = &pd_of(init->pd);
  pd->id = pd->base->id;
  pd->base->users.fetch_add(1);
  if (init->td != nullptr) {
    pd->thread = &td_of(init->td);
    pd->thread->users.fetch_add(1);
  }
  pd->handle = admit(*pd);
  RuntimeDevice::Guard guard(owner.device());
  owner.pds.push_back(*pd);
  return pd;
}

}  // namespace urxe
