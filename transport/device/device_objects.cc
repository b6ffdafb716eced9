// SPDX-License-Identifier: BSD-2-Clause
// The objects of a device: made, changed, queried and destroyed.
#include <cerrno>
#include <new>
#include <utility>

#include "transport/device/address.h"
#include "transport/device/device_impl.h"
#include "transport/limits.h"
#include "transport/observation/note_cause.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/completer.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

bool caps_are_valid(const ibv_qp_cap& cap) {
  return cap.max_send_wr <= kMaxWorkRequests && cap.max_recv_wr <= kMaxWorkRequests &&
         cap.max_send_sge <= kMaxSge && cap.max_recv_sge <= kMaxSge &&
         cap.max_inline_data <= kMaxInline;
}

int check_type(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
    case IBV_QPT_UC:
    case IBV_QPT_UD:
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
    case IBV_QPT_RAW_PACKET:
      return 0;
    case IBV_QPT_DRIVER:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

/// Which queues each type has (ibv_create_qp_ex(3), annex A14).
bool queues_are_valid(const QpInit& init) {
  if (init.type == IBV_QPT_XRC_RECV) {
    return init.domain != nullptr && init.send_cq == nullptr && init.recv_cq == nullptr &&
           init.srq == nullptr;
  }
  if (init.domain != nullptr || init.send_cq == nullptr) return false;
  if (init.type == IBV_QPT_XRC_SEND) return init.recv_cq == nullptr && init.srq == nullptr;
  return init.recv_cq != nullptr && (init.srq == nullptr || init.srq->domain == nullptr);
}

}  // namespace

void Device::Impl::count_references(const QueuePair& qp, int by) {
  const auto count = static_cast<uint32_t>(by);
  if (qp.send_cq != nullptr) qp.send_cq->references += count;
  if (qp.recv_cq != nullptr) qp.recv_cq->references += count;
  if (qp.srq != nullptr) qp.srq->references += count;
  if (qp.domain != nullptr) {
    qp.domain->references += count;
  } else {
    count_user(qp.pd, by);
  }
}

void Device::Impl::take_posted(QueuePair& qp) {
  if (qp.state() == IBV_QPS_ERR) {
    flush(ca, qp);
    qp.cq_failed = false;
  } else {
    if (qp.state() == IBV_QPS_SQE) flush_sends(ca, qp);
    announce_receives(ca, qp);
    ca.active.push_back(qp);
  }
}

void Device::Impl::take_doorbells() {
  doorbells.drain([this](QueuePair& qp) { take_posted(qp); });
}

void Device::set_receive_buffer(size_t bytes) {
  ChannelAdapter& ca = impl_->ca;
  ca.backpressure.set_receive_buffer(bytes);
  // Half is for what the peer has to send itself. A turn may go a quarter beyond the window.
  const size_t window = std::min<size_t>(ca.config.max_window, bytes * 2 / 5);
  ca.config.socket_window = static_cast<uint32_t>(window);
  ca.reads.set_limit(ca.config.socket_window);
}

Expected<PdId, Errno> Device::alloc_pd(uint32_t owner) {
  if (impl_->protection_domains.size() >= static_cast<size_t>(kMaxPds)) return error(ENOMEM);
  // The numbers have gone round after 2^32.
  while (impl_->next_pd == 0 || impl_->protection_domains.contains(impl_->next_pd)) {
    ++impl_->next_pd;
  }
  const PdId pd(impl_->next_pd++);
  impl_->protection_domains.emplace(pd.value(), ProtectionDomain{.references = 0, .owner = owner});
  impl_->note_change();
  return pd;
}

Expected<void, Errno> Device::dealloc_pd(PdId pd) {
  const auto found = impl_->protection_domains.find(pd.value());
  if (found == impl_->protection_domains.end()) return error(EINVAL);
  if (found->second.references != 0) return error(EBUSY);
  impl_->protection_domains.erase(found);
  impl_->note_change();
  return {};
}

void Device::release_pd(PdId pd) {
  if (auto freed = dealloc_pd(pd); freed || freed.error().value != EBUSY) return;
  impl_->protection_domains[pd.value()].is_released = true;
}

Expected<MemoryRegion*, Errno> Device::register_memory(PdId pd, uint8_t* host, uint64_t length,
                                                       uint64_t iova, int access, Backing backing) {
  auto region = impl_->ca.memory.add({pd, host, length, iova, access, backing});
  if (!region) return region;
  if (!impl_->share_key((*region)->lkey.value())) {
    (void)impl_->ca.memory.remove(*region);
    return error(ENOMEM);
  }
  impl_->count_user(pd, 1);
  return region;
}

Expected<void, Errno> Device::deregister_memory(MemoryRegion* region) {
  const PdId pd = region->pd;
  if (region->windows != 0) return error(EBUSY);
  impl_->forget_key(region->lkey.value());
  if (auto ok = impl_->ca.memory.remove(region); !ok) return ok;
  impl_->count_user(pd, -1);
  return {};
}

const MemoryRegion* Device::find_memory(LKey lkey) const {
  return impl_->ca.memory.find(lkey.value());
}

bool Device::is_window(RKey rkey) const {
  return impl_->ca.memory.has_window(rkey);
}

Expected<MemoryWindow*, Errno> Device::alloc_window(PdId pd, ibv_mw_type type) {
  auto window = impl_->ca.memory.add_window(pd, type);
  if (!window) return window;
  if (!impl_->share_key((*window)->rkey.value())) {
    impl_->ca.memory.remove_window(*window);
    return error(ENOMEM);
  }
  impl_->count_user(pd, 1);
  return window;
}

void Device::dealloc_window(MemoryWindow* window) {
  impl_->count_user(window->pd, -1);
  impl_->forget_key(window->rkey.value());
  impl_->ca.memory.remove_window(window);
}

Expected<void, Errno> Device::reregister_memory(MemoryRegion& region, PdId pd, uint8_t* host,
                                                uint64_t length, uint64_t iova, int access,
                                                Backing backing) {
  const PdId old_pd = region.pd;
  const RegionRequest request{pd, host, length, iova, access, backing};
  if (auto ok = impl_->ca.memory.replace(region, request); !ok) return ok;
  impl_->count_user(old_pd, -1);
  impl_->count_user(pd, 1);
  return {};
}

Expected<CompletionQueue*, Errno> Device::create_cq(uint32_t entries, void* user,
                                                    CqOptions options) {
  if (entries == 0 || entries > kMaxCqEntries) return error(EINVAL);
  if (impl_->cqs.size() >= static_cast<size_t>(kMaxCqs)) return error(ENOMEM);
  for (Device::Impl* lane : impl_->lanes) lane->ca.notified.reserve(impl_->cqs.size() + 1);
  auto cq = std::make_unique<CompletionQueue>(entries, user, options);
  CompletionQueue* raw = cq.get();
  raw->number = ++impl_->last_cq_number;
  impl_->cqs.emplace(raw, std::move(cq));
  ++impl_->object_changes;
  return raw;
}

void Device::moderate_cq(CompletionQueue& cq, CqModeration moderation) {
  (cq.lane != nullptr ? *cq.lane : impl_->ca).moderate(cq, moderation);
}

Expected<void, Errno> Device::resize_cq(CompletionQueue& cq, uint32_t entries) {
  if (entries == 0 || entries > kMaxCqEntries || !cq.resize(entries)) return error(EINVAL);
  ++impl_->object_changes;
  return {};
}

Expected<void, Errno> Device::destroy_cq(CompletionQueue* cq) {
  if (cq->references != 0) return error(EBUSY);
  if (cq->lane != nullptr) cq->lane->held_events.remove(*cq);
  for (Device::Impl* lane : impl_->lanes) {
    std::erase(lane->ca.notified, cq);
    std::erase_if(lane->ca.events, [cq](const AsyncEvent& event) { return event.cq == cq; });
  }
  impl_->cqs.erase(cq);
  ++impl_->object_changes;
  return {};
}

Expected<QueuePair*, Errno> Device::create_qp(const QpInit& init) {
  if (const int wrong = check_type(init.type); wrong != 0) return error(wrong);
  if (!queues_are_valid(init) || !caps_are_valid(init.cap)) return error(EINVAL);
  if (impl_->count_qps() >= static_cast<size_t>(kMaxQps)) return error(ENOMEM);
  const bool is_raw = init.type == IBV_QPT_RAW_PACKET;
  if (is_unreliable(service_of(init.type)) && !is_raw) impl_->ca.backpressure.enable();
  if (impl_->qps.empty()) impl_->qps.resize(kQpIndices);
  auto& place = impl_->qps[index_of(init.qpn)];
  if (place) return error(EEXIST);
  // What may run out of memory comes first.
  auto qp = std::make_unique<QueuePair>(init);
  impl_->ca.timers.reserve(impl_->qp_count + 1);
  impl_->ca.pacing.reserve(impl_->qp_count + 1);
  impl_->take_place(*qp);
  impl_->use_cq(init.send_cq);
  impl_->use_cq(init.recv_cq);
  impl_->count_references(*qp, 1);
  ++impl_->qp_count;
  place = std::move(qp);
  return place.get();
}

void Device::fail_queue_pairs(Instant now) {
  impl_->ca.now = now;
  for (const auto& qp : impl_->qps) {
    if (qp == nullptr || qp->state() == IBV_QPS_RESET || qp->state() == IBV_QPS_ERR) continue;
    note_cause(*qp, {.reason = ErrorReason::kDeviceGone});
    enter_error(impl_->ca, *qp, OwedAnswers::kDrop);
  }
}

void Device::destroy_qp(QueuePair* qp) {
  impl_->take_doorbells();
  reset(impl_->ca, *qp);
  impl_->count_references(*qp, -1);
  std::erase_if(impl_->ca.events, [qp](const AsyncEvent& event) { return event.qp == qp; });
  impl_->ca.multicast.forget(*qp);
  impl_->ca.steering.forget(*qp);
  impl_->free_place(*qp);
  --impl_->qp_count;
  impl_->qps[index_of(qp->qpn)].reset();
}

Expected<void, Errno> Device::modify_qp(QueuePair& qp, const ibv_qp_attr& attr, int mask,
                                        Instant now) {
  impl_->ca.now = now;
  return modify(impl_->ca, qp, attr, mask, now);
}

Expected<void, Errno> Device::set_rate_limit(QueuePair& qp, const RateLimit& limit, Instant now) {
  const ibv_qp_state state = qp.state();
  if (state != IBV_QPS_RTS && state != IBV_QPS_SQD) return error(EINVAL);
  if (qp.type == IBV_QPT_XRC_RECV || !rate_is_valid(limit.rate_kbps)) return error(EINVAL);
  urxe::set_rate_limit(impl_->ca, qp, limit, now);
  return {};
}

void Device::query_qp(const QueuePair& qp, ibv_qp_attr& attr, ibv_qp_init_attr& init) const {
  const ibv_qp_cap cap{qp.sq.capacity(), qp.rq.capacity(), qp.sq.max_sge(), qp.rq.max_sge(),
                       qp.sq.inline_bytes()};
  attr = qp.attr;
  attr.qp_state = attr.cur_qp_state = qp.state();
  attr.sq_psn = next_request_psn(qp).value();
  attr.rq_psn = expected_psn(qp).value();
  attr.path_mig_state = qp.migration.state;
  attr.sq_draining = qp.state() == IBV_QPS_SQD && is_draining(qp) ? 1 : 0;
  attr.cap = cap;
  init = ibv_qp_init_attr{};
  init.qp_type = qp.type;
  init.sq_sig_all = qp.sq_sig_all ? 1 : 0;
  init.cap = cap;
}

Expected<Flow, Errno> Device::resolve(const ibv_ah_attr& address) const {
  if (!address_is_valid(impl_->ca.config, address)) return error(EINVAL);
  return flow_to(impl_->ca.config, address);
}

void Device::set_source_port(QueuePair& qp, uint16_t port, PeerHost peer) {
  qp.flow_.source_port = port;
  qp.peer_host = peer;
}

void Device::set_alternate_source_port(QueuePair& qp, uint16_t port, PeerHost peer) {
  qp.migration.alternate.source_port = port;
  qp.migration.peer_host = peer;
  if (qp.migration.on_alternate) set_source_port(qp, port, peer);
}

void Device::unload_alternate_path(QueuePair& qp) {
  urxe::unload_alternate_path(impl_->ca, qp);
}

Expected<void, Errno> Device::attach_multicast(QueuePair& qp, const Gid& group) {
  return impl_->ca.multicast.attach(qp, group);
}

Expected<void, Errno> Device::detach_multicast(QueuePair& qp, const Gid& group) {
  return impl_->ca.multicast.detach(qp, group);
}

const MulticastTable& Device::multicast() const {
  return impl_->ca.multicast;
}

}  // namespace urxe
