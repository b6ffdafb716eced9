// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/host.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

// Nothing is ever unmapped here: what counts is that the way to it leads to the same bytes.
bool guarded_read(void* to, const void* guarded, size_t bytes) {
  std::memcpy(to, guarded, bytes);
  return true;
}
bool guarded_write(void* guarded, const void* from, size_t bytes) {
  std::memcpy(guarded, from, bytes);
  return true;
}
bool hold(void* guarded, size_t bytes) {
  return guarded != nullptr && bytes != 0;
}
void release() {}

DeviceConfig device_config(const Plan& plan, const std::array<Gid, 2>& gids, uint64_t seed) {
  DeviceConfig config;
  config.gids = {gids[0], gids[1]};
  config.key_secret = {seed, ~seed};
  config.min_ack_timeout = plan.min_ack_timeout;
  config.max_window = plan.max_window * 4096;
  config.guarded_access = {guarded_read, guarded_write, hold, release};
  return config;
}

/// Room for as many sides as could be on one host.
size_t memory_size(const Plan& plan) {
  const size_t side = size_t{plan.max_rdma} * 10 +
                      size_t{plan.max_send + 80} * (plan.rq_depth + 1) + plan.sq_depth * 8 + 16384;
  const size_t shared = size_t{plan.max_send + 160} * (plan.srq_depth + 1);
  return side * plan.connections * 2 + shared * (1 + Host::kXrcQueues) + 4096;
}

TxBatch::Limits batch_limits(const Plan& plan) {
  TxBatch::Limits limits;
  limits.packets = plan.transmit_packets;
  limits.bytes = std::max<size_t>(8192, plan.transmit_packets * size_t{4400});
  limits.segments_per_message = plan.segments_per_message;
  if (plan.segments_per_message > 1) limits.identification = Identification::kBySegment;
  return limits;
}

}  // namespace

Host::Host(const Plan& plan, size_t index, std::array<Gid, 2> gids, Random random,
           Transmit transmit, Observe observe)
    : plan_(plan),
      index_(index),
      gids_(gids),
      random_(random),
      transmit_(std::move(transmit)),
      observe_(std::move(observe)),
      memory_(memory_size(plan), random_.next(), plan.on_demand_percent),
      device_(device_config(plan, gids, random_.next())),
      batch_(batch_limits(plan)) {
  const auto pd = device_.alloc_pd();
  require(pd.has_value(), [] { return std::string("alloc_pd failed"); });
  pd_ = *pd;
  create_shared_receives();
}

bool Host::arrive(Packet packet, Instant now) {
  const size_t limit = unlimited_ ? 0 : plan_.network.receive_buffer;
  if (limit != 0 && inbox_bytes_ + packet.bytes.size() > limit) return false;
  inbox_bytes_ += packet.bytes.size();
  inbox_.push_back(std::move(packet));
  wake_at(now);
  return true;
}

void Host::wake_at(Instant time) {
  time = std::max(time, asleep_until_);
  if (!wake_ || time < *wake_) wake_ = time;
}

void Host::calm_down() {
  calm_ = true;
  asleep_until_ = Instant{};
  for (const auto& endpoint : endpoints_) endpoint->stop();
}

void Host::post_receives() {
  for (ReceivePool& pool : pools_) pool.post_some(!calm_);
  for (SharedReceives& shared : shared_receives_) {
    shared.pool().post_some(!calm_);
    if (!calm_) shared.change();
  }
}

void Host::on_cut() {
  for (const auto& endpoint : endpoints_) endpoint->on_cut();
}

void Host::post_last() {
  unlimited_ = true;
  post_receives();
  for (const auto& endpoint : endpoints_) endpoint->post_last();
}

void Host::flush(Instant now) {
  for (const auto& endpoint : endpoints_) endpoint->flush(now);
  wake_at(now);
}

bool Host::receive_some(Instant now) {
  for (uint32_t i = 0; i < plan_.receive_batch && !inbox_.empty(); ++i) {
    const Packet packet = std::move(inbox_.front());
    inbox_.pop_front();
    inbox_bytes_ -= packet.bytes.size();
    observe_(index_, packet);
    device_.receive(packet.view(), now);
  }
  return inbox_.empty();
}

void Host::emit(const TxBatch& batch, Instant now) {
  for (const TxBatch::Message& message : batch.messages()) {
    const auto bytes = batch.bytes(message);
    for (size_t i = 0, at = 0; i < message.segments; ++i, at += message.segment_size) {
      const auto segment = bytes.subspan(at, std::min(message.segment_size, bytes.size() - at));
      transmit_(index_,
                {{segment.begin(), segment.end()}, message.flow, batch.identification(i), false},
                now);
    }
  }
}

bool Host::transmit_some(Instant now) {
  const AckPolicy policy = !calm_ && random_.percent(plan_.urgent_only_percent)
                               ? AckPolicy::kUrgentOnly
                               : AckPolicy::kAll;
  batch_.clear();
  const bool more = device_.transmit(batch_, now, policy);
  require(!more || !batch_.empty(),
          [] { return std::string("transmit() has more to send and sends nothing"); });
  emit(batch_, now);
  return more;
}

void Host::take_events() {
  while (CompletionQueue* cq = device_.take_notified()) to_poll_.push_back(cq);
  while (const auto event = device_.take_event()) on_event(*event);
  for (const SharedReceives& shared : shared_receives_) shared.check_limit();
}

void Host::on_event(const AsyncEvent& event) {
  if (event.type == IBV_EVENT_SRQ_LIMIT_REACHED) {
    const auto it = std::find_if(shared_receives_.begin(), shared_receives_.end(),
                                 [&](SharedReceives& s) { return &s.queue() == event.srq; });
    return it->on_limit_reached();
  }
  if (event.type == IBV_EVENT_QP_LAST_WQE_REACHED) {
    require(event.qp->state() == IBV_QPS_ERR,
            [] { return std::string("the last receive of a queue pair that is not in error"); });
    ++last_wqe_events_[event.qp->qpn.value()];
    return;
  }
  if (event.type == IBV_EVENT_PATH_MIG) {
    require(migrated_.insert(event.qp->qpn.value()).second && plan_.alternate_paths,
            [] { return std::string("a queue pair migrated again, or nowhere"); });
    return;
  }
  require(event.type == IBV_EVENT_COMM_EST || event.type == IBV_EVENT_SQ_DRAINED,
          [&] { return text("asynchronous event %d", event.type); });
}

Endpoint& Host::endpoint_of(uint32_t qpn) {
  const auto it = std::find_if(endpoints_.begin(), endpoints_.end(),
                               [&](const auto& endpoint) { return endpoint->owns(qpn); });
  require(it != endpoints_.end(),
          [] { return std::string("completion of an unknown queue pair"); });
  return **it;
}

bool Host::poll(CompletionQueue& cq) {
  ibv_wc wcs[8];
  bool any = false;
  for (;;) {
    const int count = cq.poll(8, wcs);
    if (count == 0) return any;
    any = true;
    for (int i = 0; i < count; ++i) {
      digest_ = Random::mix(digest_ + wcs[i].wr_id + wcs[i].status);
      ++completions_;
      endpoint_of(wcs[i].qp_num).on_completion(wcs[i]);
    }
  }
}

void Host::run_application(Instant now) {
  if (plan_.use_notifications) {
    // As an application does: poll, arm, poll again.
    for (CompletionQueue* cq : to_poll_) {
      poll(*cq);
      cq->arm(false);
      poll(*cq);
    }
  } else {
    for (CompletionQueue* cq : cqs_) poll(*cq);
  }
  to_poll_.clear();
  post_receives();
  for (const auto& endpoint : endpoints_) {
    if (calm_ || random_.percent(50)) endpoint->post_some(now);
  }
}

void Host::drive(Instant now) {
  wake_.reset();
  const bool drained = receive_some(now);
  if (drained) device_.advance(now);
  const bool more = transmit_some(now);
  take_events();
  run_application(now);
  // Posting at the queue's end may have completed something: an application polls again.
  schedule(now, more || !drained);
}

void Host::schedule(Instant now, bool more) {
  if (!calm_ && random_.percent(plan_.deschedule_percent)) {
    asleep_until_ = now + nanoseconds(static_cast<int64_t>(
                              random_.below(static_cast<uint64_t>(plan_.deschedule_max.ns))));
  }
  if (more || device_.doorbell_pending()) wake_at(now + nanoseconds(500));
  if (device_.has_deferred_acks()) wake_at(now + microseconds(2));
  if (const auto deadline = device_.next_deadline()) wake_at(std::max(*deadline, now));
  // An application whose receives or requests came late looks again by itself.
  if (!calm_ && !idle()) wake_at(now + microseconds(20 + static_cast<int64_t>(random_.below(50))));
}

bool Host::idle() const {
  return std::all_of(endpoints_.begin(), endpoints_.end(),
                     [](const auto& endpoint) { return endpoint->idle(); });
}

void Host::check_end() {
  for (const auto& endpoint : endpoints_) endpoint->check_end();
  uint64_t value = 0;
  std::memcpy(&value, memory_.at(counter_.offset), 8);
  require(value >= counter_.completed && value <= counter_.posted, [&] {
    return text("the shared counter is %llu", static_cast<unsigned long long>(value));
  });
}

void Host::check_flushed() const {
  for (const ReceivePool& pool : pools_) pool.check_flushed();
  for (const SharedReceives& shared : shared_receives_) shared.pool().check_flushed();
  for (const QueuePair* qp : qps_) {
    const auto it = last_wqe_events_.find(qp->qpn.value());
    const uint32_t times = it != last_wqe_events_.end() ? it->second : 0;
    require(times == (qp->takes_shared_receives() ? 1 : 0), [&] {
      return text("qp 0x%x told %u times of its last receive", qp->qpn.value(), times);
    });
  }
}

}  // namespace urxe::sim
