// SPDX-License-Identifier: BSD-2-Clause
// Device memory (ibv_alloc_dm(3)): the application reaches it only by copies and through the
// device. Ours lies in the process, but its address is not given out.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "provider/runtime/errors.h"
#include "provider/verbs/abi/entry.h"
#include "provider/verbs/context_table.h"
#include "provider/verbs/memory/mr_objects.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

constexpr uint32_t kMaxLogAlign = 30;
constexpr unsigned kKnownDmAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                    IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED | kAccessFlushGlobal;

bool range_is_inside(const Dm& dm, uint64_t offset, size_t length) {
  if (dm.pages == nullptr) return false;  // it was freed
  return offset <= dm.pages->length && length <= dm.pages->length - offset;
}

int memcpy_to_dm(ibv_dm* handle, uint64_t offset, const void* from, size_t length) noexcept {
  Dm& dm = dm_of(handle);
  if (!range_is_inside(dm, offset, length)) return EFAULT;
  if (length != 0) std::memcpy(dm.pages->bytes + offset, from, length);
  return 0;
}

int memcpy_from_dm(void* to, ibv_dm* handle, uint64_t offset, size_t length) noexcept {
  const Dm& dm = dm_of(handle);
  if (!range_is_inside(dm, offset, length)) return EFAULT;
  if (length != 0) std::memcpy(to, dm.pages->bytes + offset, length);
  return 0;
}

/// Takes `bytes` of the device's memory; false: there are not so many left.
bool reserve(std::atomic<uint64_t>& used, uint64_t bytes) {
  uint64_t before = used.load();
  do {
    if (bytes > kMaxDeviceMemory - before) return false;
  } while (!used.compare_exchange_weak(before, before + bytes));
  return true;
}

/// Zeroed memory whose start is a multiple of 1 << log_align. Null: there is not so much.
std::shared_ptr<const DmPages> map_memory(size_t length, uint32_t log_align) {
  const size_t align = size_t{1} << log_align;
  auto pages = std::make_shared<DmPages>();
  pages->mapped_bytes = length + align;
  void* const mapping = mmap(nullptr, pages->mapped_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  pages->mapping = mapping;
  const auto start = reinterpret_cast<uintptr_t>(mapping);
  pages->bytes = reinterpret_cast<uint8_t*>((start + align - 1) & ~(align - 1));
  pages->length = length;
  return pages;
}

std::unique_ptr<Dm> make_dm(Context& owner, std::shared_ptr<const DmPages> pages) {
  auto dm = std::make_unique<Dm>();
  dm->owner = &owner;
  dm->context = owner.handle;
  dm->pages = std::move(pages);
  dm->memcpy_to_dm = Entry<memcpy_to_dm>::reporting;
  dm->memcpy_from_dm = Entry<memcpy_from_dm>::reporting;
  return dm;
}

ibv_dm* give_out(std::unique_ptr<Dm> dm) {
  RuntimeDevice::Guard guard(dm->owner->device());
  dm->owner->dms.push_back(*dm);
  return dm.release();
}

}  // namespace

DmPages::~DmPages() {
  if (mapping != nullptr) munmap(mapping, mapped_bytes);
}

ibv_dm* alloc_dm(ibv_context* handle, ibv_alloc_dm_attr* attr) noexcept {
  Context& owner = context_of(handle);
  if (attr->length == 0 || attr->comp_mask != 0 || attr->log_align_req > kMaxLogAlign) {
    return fail(EINVAL);
  }
  std::atomic<uint64_t>& used = owner.device().device_memory;
  if (!reserve(used, attr->length)) return fail(ENOMEM);
  try {
    if (auto pages = map_memory(attr->length, attr->log_align_req)) {
      auto dm = make_dm(owner, std::move(pages));
      dm->handle = admit(*dm);
      return give_out(std::move(dm));
    }
  } catch (const std::bad_alloc&) {
    // As if there were no memory of the device's left.
  }
  used.fetch_sub(attr->length);
  return fail(ENOMEM);
}

ibv_dm* import_dm(ibv_context* handle, uint32_t number) noexcept {
  Context& owner = context_of(handle);
  if (owner.is_forked()) return fail(ENODEV);
  try {
    std::shared_ptr<const DmPages> pages;
    ContextTable::instance().any_of_device(owner, [&](Context& context) {
      RuntimeDevice::Guard guard(context.device());
      context.dms.for_each([&](const Dm& dm) {
        if (!dm.imported && dm.mark.number == number) pages = dm.pages;
      });
      return pages != nullptr;
    });
    if (pages == nullptr) return fail(ENOENT);
    auto dm = make_dm(owner, std::move(pages));
    dm->imported = true;
    dm->handle = admit(*dm, number);
    return give_out(std::move(dm));
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

/// Memory of which regions were made stays until its context is closed.
void unimport_dm(ibv_dm* handle) noexcept {
  Dm& dm = dm_of(handle);
  if (check_mark(dm, handle->context, handle->handle) != 0 || !dm.imported) return;
  {
    RuntimeDevice::Guard guard(dm.owner->device());
    if (dm.regions != 0) return;
    dm.owner->dms.remove(dm);
  }
  dm.pages.reset();
  dm.owner->retired.add(dm);
}

ibv_mr* reg_dm_mr(ibv_pd* handle, ibv_dm* memory, uint64_t offset, size_t length,
                  unsigned access) noexcept {
  Pd& pd = pd_of(handle);
  Dm& dm = dm_of(memory);
  if (pd.owner->is_forked()) return fail(ENODEV);
  if (!is_handle_of(*pd.owner, memory) ||
      (access & ~(kKnownDmAccess | IBV_ACCESS_OPTIONAL_RANGE)) != 0 ||
      (access & IBV_ACCESS_ZERO_BASED) == 0 || !range_is_inside(dm, offset, length)) {
    return fail(EINVAL);
  }
  try {
    auto mr = std::make_unique<Mr>();
    RuntimeDevice::Guard guard(pd.owner->device());
    auto region = pd.owner->device().device().register_memory(
        pd.id, dm.pages->bytes + offset, length, 0, mr_rights(static_cast<int>(access)));
    if (!region) return fail(region.error().value);
    attach_region(*mr, pd, *region);
    mr->mr.length = length;
    // It is not the application's memory, so the library must not change how fork() treats it.
    mr->mr_type = abi::kDmaBufMr;
    mr->access = static_cast<int>(access);
    mr->device_memory = &dm;
    ++dm.regions;
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_dm(Dm& dm) {
  if (!dm.imported) dm.owner->device().device_memory.fetch_sub(dm.pages->length);
  dm.owner->dms.remove(dm);
  dm.pages.reset();
}

int free_dm(ibv_dm* handle) noexcept {
  Dm& dm = dm_of(handle);
  if (dm.imported) return EOPNOTSUPP;
  {
    RuntimeDevice::Guard guard(dm.owner->device());
    const bool is_used = dm.regions != 0;
    if (is_used && !dm.owner->is_forked()) return EBUSY;
    if (!is_used) end_dm(dm);  // in a forked child the regions may be the parent's
  }
  dm.owner->retired.add(dm);
  return 0;
}

}  // namespace urxe
