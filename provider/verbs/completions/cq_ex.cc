// SPDX-License-Identifier: BSD-2-Clause
// Polling by ibv_start_poll(), ibv_next_poll() and ibv_end_poll() (ibv_create_cq_ex(3)). A
// completion leaves the queue when it becomes the current one, so that its places are free for
// requests that the application posts before it ends the batch.
#include <cerrno>

#include "packet/host/clock.h"
#include "provider/verbs/completions/cq_lanes.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// Makes the oldest completion the current one; false: there is none.
bool take(Cq& cq) {
  if (!cq.queue->poll_one(cq.current)) return false;
  cq.cq_ex.wr_id = cq.current.wc.wr_id;
  cq.cq_ex.status = cq.current.wc.status;
  return true;
}

/// As take(); if there was a completion, the caller holds the poller's lock afterwards.
bool take_and_keep_lock(Cq& cq) {
  cq.poller.lock();
  if (take(cq)) return true;
  cq.poller.unlock();
  return false;
}

int start_poll(ibv_cq_ex* handle, ibv_poll_cq_attr* attr) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return errno = ENODEV;
  if (attr != nullptr && attr->comp_mask != 0) return errno = EINVAL;
  if (!poll_lanes(cq, [&cq] { return take_and_keep_lock(cq); })) return ENOENT;
  if (cq.shows_wallclock) {
    cq.wallclock_offset_ns = wall_clock_ns() - clock_now().ns;
  }
  return 0;
}

int next_poll(ibv_cq_ex* handle) noexcept {
  return take(cq_of(handle)) ? 0 : ENOENT;
}

void end_poll(ibv_cq_ex* handle) noexcept {
  cq_of(handle).poller.unlock();
}

const ibv_wc& current(ibv_cq_ex* handle) {
  return cq_of(handle).current.wc;
}

uint64_t read_completion_ts(ibv_cq_ex* handle) noexcept {
  return static_cast<uint64_t>(cq_of(handle).current.when.ns);
}

uint64_t read_completion_wallclock_ns(ibv_cq_ex* handle) noexcept {
  const Cq& cq = cq_of(handle);
  return static_cast<uint64_t>(cq.current.when.ns + cq.wallclock_offset_ns);
}

}  // namespace

void set_extended_operations(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* self) { return current(self).opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* self) { return current(self).vendor_err; };
  cq.read_byte_len = [](ibv_cq_ex* self) { return current(self).byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* self) -> __be32 { return current(self).imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* self) { return current(self).qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* self) { return current(self).src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* self) { return current(self).wc_flags; };
  cq.read_slid = [](ibv_cq_ex* self) -> uint32_t { return current(self).slid; };
  cq.read_sl = [](ibv_cq_ex* self) { return current(self).sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex* self) { return current(self).dlid_path_bits; };
  cq.read_completion_ts = read_completion_ts;
  cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
  // No completion queue can be asked for these; a program that reads them anyway must not crash.
  cq.read_cvlan = [](ibv_cq_ex*) -> uint16_t { return 0; };
  cq.read_flow_tag = [](ibv_cq_ex*) -> uint32_t { return 0; };
  cq.read_tm_info = [](ibv_cq_ex*, ibv_wc_tm_info* info) { *info = {}; };
}

int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept {
  if (context_of(context).is_forked()) return ENODEV;
  const uint32_t wanted = values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK;
  values->comp_mask = wanted;
  // A count of the clock's ticks, as completion timestamps are, and not seconds and nanoseconds.
  if (wanted != 0) values->raw_clock = {0, clock_now().ns};
  return 0;
}

}  // namespace urxe
