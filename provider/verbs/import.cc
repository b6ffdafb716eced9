// SPDX-License-Identifier: BSD-2-Clause
// Objects that are shared between contexts of one process: ibv_import_pd(3), ibv_import_mr(3). An
// imported object is another handle; what is behind it belongs to the context that made it.
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include <cerrno>
#include <memory>
#include <new>
#include <optional>

#include "provider/devices/preloaded.h"
#include "provider/runtime/errors.h"
#include "provider/verbs/context_table.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// libibverbs asks for the events of a context that it has imported, which are there already.
int command_hook(int fd, void* command) noexcept {
  auto* const header = static_cast<ib_uverbs_ioctl_hdr*>(command);
  if (header == nullptr || header->object_id != UVERBS_OBJECT_ASYNC_EVENT ||
      header->method_id != UVERBS_METHOD_ASYNC_EVENT_ALLOC) {
    return fail(ENOTTY);
  }
  ib_uverbs_attr& attribute = header->attrs[0];
  if (header->num_attrs != 1 || attribute.attr_id != UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE) {
    return fail(EINVAL);
  }
  const int async_fd = ContextTable::instance().find_async_fd(fd);
  if (async_fd < 0) return fail(ENODEV);
  attribute.data_s64 = async_fd;
  attribute.flags |= UVERBS_ATTR_F_VALID_OUTPUT;
  return 0;
}

/// The domain behind a handle's number, in whatever context; nullopt: there is none.
std::optional<PdId> find_domain(const Context& owner, uint32_t number) {
  std::optional<PdId> found;
  ContextTable::instance().any_of_device(owner, [&](Context& context) {
    RuntimeDevice::Guard guard(context.device());
    context.pds.for_each([&](const Pd& pd) {
      if (pd.mark.live && pd.mark.number == number) found = pd.id;
    });
    return found.has_value();
  });
  return found;
}

struct SharedRegion {
  PdId domain;
  ibv_mr handle;
};

/// The region behind a handle's number, in whatever context; nullopt: there is none.
std::optional<SharedRegion> find_region(const Context& owner, uint32_t number) {
  std::optional<SharedRegion> found;
  ContextTable::instance().any_of_device(owner, [&](Context& context) {
    RuntimeDevice::Guard guard(context.device());
    context.mrs.for_each([&](const Mr& mr) {
      if (mr.region != nullptr && mr.mark.number == number) found = {mr.region->pd, mr.mr};
    });
    return found.has_value();
  });
  return found;
}

/// Makes `mr` a handle of that region.
void take_region(Mr& mr, Pd& pd, const SharedRegion& region) {
  mr.owner = pd.owner;
  mr.domain = DomainUse(pd);
  mr.mr.context = pd.context;
  mr.mr.pd = &pd;
  mr.mr.length = region.handle.length;
  mr.mr.lkey = region.handle.lkey;
  mr.mr.rkey = region.handle.rkey;
  mr.mr.handle = admit(mr, region.handle.handle);
  mr.mr_type = abi::kImportedMr;
}

}  // namespace

bool take_commands() {
  constexpr uint32_t kFirstWithHook = 6;
  static const urxe_presence* const presence = [] {
    const urxe_presence* const found = find_presence(kFirstWithHook);
    if (found != nullptr) found->set_ioctl_hook(command_hook);
    return found;
  }();
  return presence != nullptr;
}

ibv_pd* import_pd(ibv_context* context, uint32_t number) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  try {
    auto pd = std::make_unique<Pd>();
    const auto id = find_domain(owner, number);
    if (!id) return fail(ENOENT);
    pd->context = context;
    pd->owner = &owner;
    pd->id = *id;
    pd->imported = true;
    pd->handle = admit(*pd, number);
    RuntimeDevice::Guard guard(owner.device());
    owner.pds.push_back(*pd);
    return pd.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

/// A handle with which objects were made stays until its context is closed.
void unimport_pd(ibv_pd* handle) noexcept {
  Pd& pd = pd_of(handle);
  if (check_handle(handle) != 0 || !pd.imported || pd.users.load() != 0) return;
  {
    RuntimeDevice::Guard guard(pd.owner->device());
    pd.owner->pds.remove(pd);
  }
  pd.owner->retired.add(pd);
}

ibv_mr* import_mr(ibv_pd* handle, uint32_t number) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  try {
    auto mr = std::make_unique<Mr>();
    const auto region = find_region(*pd.owner, number);
    if (!region) return fail(ENOENT);
    if (region->domain != pd.id) return fail(EINVAL);
    take_region(*mr, pd, *region);
    RuntimeDevice::Guard guard(pd.owner->device());
    pd.owner->mrs.push_back(*mr);
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void unimport_mr(ibv_mr* handle) noexcept {
  Mr& mr = mr_of(reinterpret_cast<abi::VerbsMr*>(handle));
  if (check_mark(mr, handle->context, handle->handle) != 0 || mr.region != nullptr) return;
  {
    RuntimeDevice::Guard guard(mr.owner->device());
    mr.owner->mrs.remove(mr);
  }
  mr.domain = DomainUse();
  mr.owner->retired.add(mr);
}

}  // namespace urxe
