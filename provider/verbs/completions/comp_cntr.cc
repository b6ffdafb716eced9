// SPDX-License-Identifier: BSD-2-Clause
// Completion counters (ibv_create_comp_cntr(3) of rdma-core 65).
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"
#include "transport/limits.h"

namespace urxe {
namespace {

constexpr uint32_t kAllOperations = (1U << CompletionCounters::kKinds) - 1;

// ibv_comp_cntr_type
constexpr uint32_t kWorkRequests = 0;
constexpr uint32_t kBytes = 1;

bool takes(uint32_t operations, size_t kind) {
  return (operations >> kind & 1) != 0;
}

/// Counters begin with a queue pair: before it can send or receive anything.
int check_attach(const Qp& qp, const CompCntr& counter, const abi::QpAttachCompCntrAttr& attr) {
  const ibv_qp_state state = qp.queue_pair->state();
  if (attr.comp_mask != 0 || attr.op_mask == 0 || counter.owner != qp.owner) return EINVAL;
  // The handles of an XRC target share its queue pair, and may end in any order.
  if ((attr.op_mask & ~kAllOperations) != 0 || qp.queue_pair->domain != nullptr) return ENOTSUP;
  if (state != IBV_QPS_RESET && state != IBV_QPS_INIT) return EINVAL;
  for (size_t kind = 0; kind < CompletionCounters::kKinds; ++kind) {
    if (takes(attr.op_mask, kind) && qp.counters[kind] != nullptr) return EBUSY;
  }
  return 0;
}

}  // namespace

int query_comp_cntr_caps(ibv_context* /*context*/, abi::CompCntrCaps* caps, size_t size) noexcept {
  const abi::CompCntrCaps values{UINT64_MAX, kMaxCompletionCounters, kAllOperations};
  std::memset(caps, 0, size);
  std::memcpy(caps, &values, std::min(size, sizeof values));
  return 0;
}

abi::CompCntr* create_comp_cntr(ibv_context* handle, abi::CompCntrInitAttr* init) noexcept {
  Context& owner = context_of(handle);
  if (owner.is_forked()) return fail(ENODEV);
  if (init->comp_mask != 0 || init->flags != 0) return fail(EINVAL);
  if (init->type != kWorkRequests && init->type != kBytes) return fail(ENOTSUP);
  const auto type =
      init->type == kBytes ? CompletionCounter::Type::kBytes : CompletionCounter::Type::kRequests;
  auto* counter = new (std::nothrow) CompCntr(type);
  if (counter == nullptr) return fail(ENOMEM);
  RuntimeDevice::Guard guard(owner.device());
  if (owner.completion_counters == kMaxCompletionCounters) {
    delete counter;
    return fail(ENOMEM);
  }
  ++owner.completion_counters;
  counter->owner = &owner;
  counter->context = handle;
  counter->handle = admit(*counter);
  owner.comp_cntrs.push_back(*counter);
  return counter;
}

void end_comp_cntr(CompCntr& counter) {
  --counter.owner->completion_counters;
  counter.owner->comp_cntrs.remove(counter);
}

int destroy_comp_cntr(abi::CompCntr* handle) noexcept {
  CompCntr& counter = comp_cntr_of(handle);
  if (!counter.owner->is_forked()) {
    RuntimeDevice::Guard guard(counter.owner->device());
    if (counter.uses != 0) return EBUSY;
    end_comp_cntr(counter);
  }
  counter.owner->retired.add(counter);
  return 0;
}

int set_comp_cntr(abi::CompCntr* handle, uint64_t value) noexcept {
  comp_cntr_of(handle).counter.completed.store(value, std::memory_order_release);
  return 0;
}

int set_err_comp_cntr(abi::CompCntr* handle, uint64_t value) noexcept {
  comp_cntr_of(handle).counter.failed.store(value, std::memory_order_release);
  return 0;
}

int inc_comp_cntr(abi::CompCntr* handle, uint64_t amount) noexcept {
  comp_cntr_of(handle).counter.completed.fetch_add(amount, std::memory_order_acq_rel);
  return 0;
}

int inc_err_comp_cntr(abi::CompCntr* handle, uint64_t amount) noexcept {
  comp_cntr_of(handle).counter.failed.fetch_add(amount, std::memory_order_acq_rel);
  return 0;
}

int read_comp_cntr(abi::CompCntr* handle, uint64_t* value) noexcept {
  *value = comp_cntr_of(handle).counter.completed.load(std::memory_order_acquire);
  return 0;
}

int read_err_comp_cntr(abi::CompCntr* handle, uint64_t* value) noexcept {
  *value = comp_cntr_of(handle).counter.failed.load(std::memory_order_acquire);
  return 0;
}

int qp_attach_comp_cntr(ibv_qp* handle, abi::CompCntr* counter_handle,
                        abi::QpAttachCompCntrAttr* attr) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  if (check_handle(counter_handle) != 0) return EINVAL;
  CompCntr& counter = comp_cntr_of(counter_handle);
  RuntimeDevice::Guard guard(qp.owner->device());
  if (const int wrong = check_attach(qp, counter, *attr); wrong != 0) return wrong;
  for (size_t kind = 0; kind < CompletionCounters::kKinds; ++kind) {
    if (!takes(attr->op_mask, kind)) continue;
    qp.counters[kind] = &counter;
    qp.queue_pair->completion_counters.of[kind] = &counter.counter;
    ++counter.uses;
  }
  return 0;
}

void detach_comp_cntrs(Qp& qp) {
  for (CompCntr*& counter : qp.counters) {
    if (counter != nullptr) --counter->uses;
    counter = nullptr;
  }
}

}  // namespace urxe
