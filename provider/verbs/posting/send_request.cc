// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/posting/send_request.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

bool may_be_inline(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_ATOMIC_WRITE:
      return true;
    default:
      return false;
  }
}

constexpr uint64_t length_of(const ibv_sge& sge) {
  return sge.length;
}
constexpr uint64_t length_of(const ibv_data_buf& buffer) {
  return buffer.length;
}
const void* address_of(const ibv_sge& sge) {
  return reinterpret_cast<const void*>(sge.addr);
}
const void* address_of(const ibv_data_buf& buffer) {
  return buffer.addr;
}

template <class Buffer>
int copy_inline(SendQueue& queue, uint32_t position, std::span<const Buffer> list) {
  SendWqe& wqe = queue.at(position);
  if (!may_be_inline(wqe.opcode)) return EINVAL;
  uint64_t total = 0;
  uint8_t* out = queue.inline_space(position);
  for (const Buffer& buffer : list) {
    const uint64_t length = length_of(buffer);
    if (length > queue.inline_bytes() - total) return EINVAL;
    if (length != 0) std::memcpy(out + total, address_of(buffer), length);
    total += length;
  }
  wqe.is_inline = true;
  wqe.num_sge = 0;
  wqe.length = static_cast<uint32_t>(total);
  return 0;
}

}  // namespace

bool takes_sends(ibv_qp_state state) {
  return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

bool has_data(ibv_wr_opcode opcode) {
  return is_remote(opcode) && opcode != kWrFlush;
}

bool is_remote(ibv_wr_opcode opcode) {
  return opcode != IBV_WR_BIND_MW && opcode != IBV_WR_LOCAL_INV;
}

SendWqe& begin_request(SendQueue& queue, uint32_t position, uint64_t wr_id, ibv_wr_opcode opcode,
                       unsigned flags) {
  SendWqe& wqe = queue.at(position);
  wqe = SendWqe{};
  wqe.wr_id = wr_id;
  wqe.opcode = opcode;
  wqe.send_flags = flags;
  return wqe;
}

int set_list(SendQueue& queue, uint32_t position, std::span<const ibv_sge> list) {
  if (list.size() > queue.max_sge()) return EINVAL;
  SendWqe& wqe = queue.at(position);
  uint64_t total = 0;
  Sge* out = queue.sge_space(position);
  for (const ibv_sge& sge : list) {
    *out++ = Sge{sge.addr, sge.length, LKey(sge.lkey)};
    total += sge.length;
  }
  wqe.is_inline = false;
  wqe.num_sge = static_cast<uint32_t>(list.size());
  // The requester refuses a message that is too long.
  wqe.length = static_cast<uint32_t>(std::min<uint64_t>(total, UINT32_MAX));
  return 0;
}

int set_inline_data(SendQueue& queue, uint32_t position, std::span<const ibv_sge> list) {
  return copy_inline(queue, position, list);
}

int set_inline_data(SendQueue& queue, uint32_t position, std::span<const ibv_data_buf> list) {
  return copy_inline(queue, position, list);
}

int set_flush(SendWqe& wqe, const Feth& flush, size_t length) {
  constexpr unsigned kPlacements = Feth::kGlobal | Feth::kPersistent;
  if (flush.placement == 0 || (flush.placement & ~kPlacements) != 0) return EINVAL;
  if (flush.selectivity > Feth::kRegion) return EINVAL;
  const bool is_range = flush.selectivity == Feth::kRange;
  if (is_range && length > UINT32_MAX) return EINVAL;
  wqe.flush = flush;
  wqe.flush_length = is_range ? static_cast<uint32_t>(length) : 0;
  return 0;
}

int set_bind(SendWqe& wqe, ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info& info) {
  if (mw == nullptr || mw->type != IBV_MW_TYPE_2 || !bind_info_is_valid(info)) return EINVAL;
  wqe.bind = bind_request(mw_of(mw), RKey(rkey), info);
  return 0;
}

}  // namespace urxe
