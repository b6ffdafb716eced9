// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <new>
#include <optional>

#include "packet/host/clock.h"
#include "provider/verbs/queue_pairs/qp_path.h"
#include "provider/verbs/queue_pairs/xrc.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// Locks the queue pair's completion queues while its completions are dropped.
class PollerGuard {
 public:
  explicit PollerGuard(const Qp& qp) {
    const CompletionQueue* send_cq = qp.queue_pair->send_cq;
    const CompletionQueue* recv_cq = qp.queue_pair->recv_cq;
    if (send_cq != nullptr) send_ = std::unique_lock(static_cast<Cq*>(send_cq->user())->poller);
    if (recv_cq != nullptr && recv_cq != send_cq) {
      recv_ = std::unique_lock(static_cast<Cq*>(recv_cq->user())->poller);
    }
  }

 private:
  std::unique_lock<Spinlock> send_;
  std::unique_lock<Spinlock> recv_;
};

int modify_locked(Qp& qp, const ibv_qp_attr& attr, int mask) {
  std::lock_guard send_poster(qp.send_poster);
  std::lock_guard recv_poster(qp.recv_poster);
  if ((mask & IBV_QP_STATE) != 0) qp.progress->flush_acks();  // RESET and ERR forget them
  if (int failed = open_sources(qp, attr, mask); failed != 0) return failed;
  std::optional<PollerGuard> pollers;
  if ((mask & IBV_QP_STATE) != 0 && attr.qp_state == IBV_QPS_RESET) pollers.emplace(qp);
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
    RuntimeDevice::Guard guard(qp.owner->device());
    return modify_locked(holder_of(qp), *attr, mask);
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
  PollerGuard pollers(qp);
  qp.progress->note_end(*qp.queue_pair);
  qp.lane->device().destroy_qp(qp.queue_pair);
  detach_comp_cntrs(qp);
}

int destroy_qp(ibv_qp* handle) noexcept {
  Qp& qp = qp_of(handle);
  if (!qp.owner->is_forked()) {
    {
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
