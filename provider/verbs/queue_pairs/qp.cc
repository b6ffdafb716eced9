// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "packet/host/clock.h"
#include "provider/verbs/queue_pairs/qp_path.h"
#include "provider/verbs/queue_pairs/xrc.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// Locks both sides of a queue pair before it changes, its completion queues before its completions
/// are dropped, or all of them. The application may hold some of these locks (ibv_wr_start(),
/// ibv_start_poll()), taken in any order, while it calls any function. So they are taken before the
/// device's lock, and no thread waits for one of them while it holds another.
class SideLocks {
 public:
  SideLocks(Qp& qp, bool changes, bool drops_completions) {
    const CompletionQueue* send_cq = drops_completions ? qp.queue_pair->send_cq : nullptr;
    const CompletionQueue* recv_cq = drops_completions ? qp.queue_pair->recv_cq : nullptr;
    if (recv_cq == send_cq) recv_cq = nullptr;
    none_.disable();
    send_poster_ = std::unique_lock(changes ? qp.send_poster : none_, std::defer_lock);
    recv_poster_ = std::unique_lock(changes ? qp.recv_poster : none_, std::defer_lock);
    send_poller_ = std::unique_lock(poller_of(send_cq), std::defer_lock);
    recv_poller_ = std::unique_lock(poller_of(recv_cq), std::defer_lock);
    std::lock(send_poster_, recv_poster_, send_poller_, recv_poller_);
  }

 private:
  Spinlock& poller_of(const CompletionQueue* cq) {
    return cq != nullptr ? static_cast<Cq*>(cq->user())->poller : none_;
  }

  Spinlock none_;
  std::unique_lock<Spinlock> send_poster_;
  std::unique_lock<Spinlock> recv_poster_;
  std::unique_lock<Spinlock> send_poller_;
  std::unique_lock<Spinlock> recv_poller_;
};

int modify_locked(Qp& qp, const ibv_qp_attr& attr, int mask) {
  if ((mask & IBV_QP_STATE) != 0) qp.progress->flush_acks();  // RESET and ERR forget them
  if (int failed = open_sources(qp, attr, mask); failed != 0) return failed;
  auto modified = qp.lane->device().modify_qp(*qp.queue_pair, attr, mask, clock_now());
  if (!modified) return modified.error().value;
  if (qp.queue_pair->state() == IBV_QPS_RESET) release_source_ports(qp);
  return claim_source_ports(qp, mask);
}

void await_acknowledgements(Qp& qp) {
  const uint64_t element = reinterpret_cast<uintptr_t>(&qp.qp);
  const uint32_t events = qp.async_events - qp.owner->async_events()->take_back(element);
  pthread_mutex_lock(&qp.qp.mutex);
  while (qp.qp.events_completed != events) pthread_cond_wait(&qp.qp.cond, &qp.qp.mutex);
  pthread_mutex_unlock(&qp.qp.mutex);
}

}  // namespace

int modify_qp(ibv_qp* handle, ibv_qp_attr* attr, int mask) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  try {
    const bool resets = (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RESET;
    std::optional<SideLocks> sides(std::in_place, qp, true, resets);
    RuntimeDevice::Guard guard(qp.owner->device());
    const int result = modify_locked(holder_of(qp), *attr, mask);
    sides.reset();  // the guard's end may wait for the network
    return result;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int modify_qp_rate_limit(ibv_qp* handle, ibv_qp_rate_limit_attr* attr) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  const bool shapes_nothing =
      attr->rate_limit == 0 && (attr->max_burst_sz != 0 || attr->typical_pkt_sz != 0);
  if (attr->comp_mask != 0 || shapes_nothing) return EINVAL;
  const RateLimit limit{attr->rate_limit, attr->max_burst_sz, attr->typical_pkt_sz};
  RuntimeDevice::Guard guard(qp.owner->device());
  auto set = qp.lane->device().set_rate_limit(*qp.queue_pair, limit, clock_now());
  return set ? 0 : set.error().value;
}

int query_qp(ibv_qp* handle, ibv_qp_attr* attr, int /*mask*/, ibv_qp_init_attr* init) noexcept {
  Qp& qp = qp_of(handle);
  if (qp.owner->is_forked()) return ENODEV;
  RuntimeDevice::Guard guard(qp.owner->device());
  qp.lane->device().query_qp(*qp.queue_pair, *attr, *init);
  init->qp_context = handle->qp_context;
  init->send_cq = handle->send_cq;
  init->recv_cq = handle->recv_cq;
  init->srq = handle->srq;
  return 0;
}

void end_qp(Qp& qp) {
  qp.owner->qps.remove(qp);
  if (leave_sharers(qp)) return;
  qp.progress->flush_acks();
  release_source_ports(qp);
  leave_groups(qp);
  qp.progress->note_end(*qp.queue_pair);
  qp.lane->device().destroy_qp(qp.queue_pair);
  detach_comp_cntrs(qp);
}

int destroy_qp(ibv_qp* handle) noexcept {
  Qp& qp = qp_of(handle);
  if (!qp.owner->is_forked()) {
    {
      const SideLocks sides(qp, false, true);
      RuntimeDevice::Guard guard(qp.owner->device());
      if (is_in_group(qp) || qp.flows != 0) return EBUSY;
      end_qp(qp);
    }
    await_acknowledgements(qp);
  }
  qp.domain = DomainUse();
  qp.owner->retired.add(qp);
  return 0;
}

}  // namespace urxe
