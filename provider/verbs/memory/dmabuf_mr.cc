// SPDX-License-Identifier: BSD-2-Clause
// Regions of dma-bufs that this process can map: those of main memory (udmabuf, dma-buf heaps,
// graphics drivers without a card's memory).
#include <unistd.h>

#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/memory/mr_objects.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

constexpr int kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | kAccessFlushGlobal;

/// As the kernel does.
int check(uint64_t offset, uint64_t iova, int access) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (offset % page != iova % page) return EINVAL;
  if ((access & ~(kKnownAccess | IBV_ACCESS_OPTIONAL_RANGE)) != 0) return EINVAL;
  return MemoryTable::access_is_valid(access) ? 0 : EINVAL;
}

}  // namespace

ibv_mr* reg_dmabuf_mr(ibv_pd* handle, uint64_t offset, size_t length, uint64_t iova, int fd,
                      int access) noexcept {
  Pd& pd = pd_of(handle);
  if (pd.owner->is_forked()) return fail(ENODEV);
  // Programs ask so whether the memory of a graphics card can be registered. No process can map
  // that, so the answer is no, and they copy.
  if (fd < 0) return fail(EOPNOTSUPP);
  if (int wrong = check(offset, iova, access); wrong != 0) return fail(wrong);
  try {
    auto mr = std::make_unique<Mr>();
    auto buffer = DmaBuf::map(fd, offset, length, (access & IBV_ACCESS_LOCAL_WRITE) != 0);
    if (!buffer) return fail(buffer.error().value);
    RuntimeDevice::Guard guard(pd.owner->device());
    auto region = pd.owner->device().device().register_memory(pd.id, buffer->bytes(), length, iova,
                                                              mr_rights(access));
    if (!region) return fail(region.error().value);
    attach_region(*mr, pd, *region);
    mr->mr_type = abi::kDmaBufMr;
    mr->access = access;
    mr->dma_buf = std::move(*buffer);
    return &mr.release()->mr;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

}  // namespace urxe
