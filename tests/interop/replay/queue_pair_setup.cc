// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/queue_pair_setup.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "tests/interop/replay/operation.h"
#include "tests/sim/connect.h"

namespace urxe::replay {
namespace {

constexpr uint32_t kQueueEntries = 512;
constexpr uint8_t kForEver = 7;

ibv_qp_type type_of(Service service) {
  switch (service) {
    case Service::kUc:
      return IBV_QPT_UC;
    case Service::kUd:
      return IBV_QPT_UD;
    default:
      return IBV_QPT_RC;
  }
}

/// 256 is IBV_MTU_256, which is 1.
ibv_mtu mtu_code(uint32_t bytes) {
  return static_cast<ibv_mtu>(std::bit_width(bytes) - 8);
}

/// The right that an operation needs of the queue pair that receives it.
int right_for(Operation operation) {
  if (operation == Operation::kReadRequest) return IBV_ACCESS_REMOTE_READ;
  if (is_atomic(operation)) return IBV_ACCESS_REMOTE_ATOMIC;
  return is_write(operation) ? IBV_ACCESS_REMOTE_WRITE : 0;
}

/// All, less those for what was refused as an invalid request.
int rights_of(const QueuePairPlan& plan) {
  int rights = sim::ConnectOptions{}.access;
  for (const Talk* talk : plan.receives) {
    for (const Message& message : talk->messages) {
      const bool refused =
          message.outcome == Outcome::kRefused && message.nak == NakCode::kInvalidRequest;
      if (refused) rights &= ~right_for(message.operation());
    }
  }
  return rights;
}

/// The timer code of the RNR NAKs that were sent.
uint8_t rnr_timer_of(const QueuePairPlan& plan) {
  for (const Talk* talk : plan.receives) {
    for (const Frame* frame : talk->conversation.responses) {
      const uint8_t syndrome = frame->headers().aeth.syndrome;
      const bool is_nak =
          frame->operation() == Operation::kAcknowledge && ack_kind(syndrome) == AckKind::kRnrNak;
      if (is_nak) return syndrome_value(syndrome);
    }
  }
  return sim::ConnectOptions{}.min_rnr_timer;
}

void set_retries(const QueuePairPlan& plan, sim::ConnectOptions& options) {
  options.retry_cnt = options.rnr_retry = kForEver;
  for (const Talk* talk : plan.sends) {
    for (const Message& message : talk->messages) {
      if (message.outcome == Outcome::kUnanswered) {
        options.retry_cnt = static_cast<uint8_t>(message.transmissions - 1);
      }
      if (message.outcome == Outcome::kRnrExceeded) {
        options.rnr_retry = static_cast<uint8_t>(message.rnr_naks - 1);
      }
    }
  }
}

/// A packet that the queue pair has sent, for what is the same in all of them; nullptr: none.
const Frame* find_sent(const QueuePairPlan& plan) {
  for (const Talk* talk : plan.sends) return talk->conversation.requests.front();
  for (const Talk* talk : plan.receives) {
    if (!talk->conversation.responses.empty()) return talk->conversation.responses.front();
  }
  return nullptr;
}

uint32_t qkey_of(const QueuePairPlan& plan) {
  const Talk* talk = plan.sends.empty() ? plan.receives.front() : plan.sends.front();
  return talk->conversation.requests.front()->headers().deth.qkey.value();
}

sim::ConnectOptions options_of(const QueuePairPlan& plan, const CaptureRow& row) {
  sim::ConnectOptions options;
  options.destination = plan.peer.gid;
  options.dest_qpn = plan.peer.qpn;
  options.mtu = mtu_code(plan.mtu);
  if (!plan.sends.empty()) options.sq_psn = plan.sends[0]->conversation.start.value();
  if (!plan.receives.empty()) options.rq_psn = plan.receives[0]->conversation.start.value();
  options.timeout = row.timeout;
  options.min_rnr_timer = rnr_timer_of(plan);
  options.access = rights_of(plan);
  options.qkey = plan.service == Service::kUd ? qkey_of(plan) : 0;
  set_retries(plan, options);
  return options;
}

ibv_qp_attr rtr_attributes(const QueuePairPlan& plan, const sim::ConnectOptions& options) {
  ibv_qp_attr attr = sim::rtr_attributes(options);
  if (const Frame* sent = find_sent(plan)) {
    attr.ah_attr.grh.hop_limit = sent->packet.flow.hop_limit;
    attr.ah_attr.grh.traffic_class = sent->packet.flow.traffic_class;
  }
  return attr;
}

QueuePairQueues create(Adapter& adapter, const QueuePairPlan& plan, bool shared) {
  Device& device = adapter.device();
  QueuePairQueues queues;
  queues.sends = device.create_cq(kQueueEntries, nullptr).value();
  queues.receives = device.create_cq(kQueueEntries, nullptr).value();
  if (shared && !plan.receives.empty()) {
    queues.shared = device.create_srq({adapter.pd(), kQueueEntries, 1}).value();
  }
  QpInit init;
  init.qpn = plan.self.qpn;
  init.pd = adapter.pd();
  init.send_cq = queues.sends;
  init.recv_cq = queues.receives;
  init.srq = queues.shared;
  init.type = type_of(plan.service);
  init.cap = {kQueueEntries, kQueueEntries, 1, 1, 0};
  init.sq_sig_all = true;
  queues.qp = device.create_qp(init).value();
  return queues;
}

}  // namespace

QueuePairQueues set_up(Adapter& adapter, const QueuePairPlan& plan, const CaptureRow& row) {
  QueuePairQueues queues = create(adapter, plan, row.shared_receives);
  Device& device = adapter.device();
  const sim::ConnectOptions options = options_of(plan, row);
  const sim::ConnectMasks masks = sim::connect_masks(queues.qp->type);
  const bool up =
      device.modify_qp(*queues.qp, sim::init_attributes(options), masks.init, adapter.now()) &&
      device.modify_qp(*queues.qp, rtr_attributes(plan, options), masks.rtr, adapter.now()) &&
      device.modify_qp(*queues.qp, sim::rts_attributes(options), masks.rts, adapter.now());
  if (!up) throw std::runtime_error("a queue pair cannot be brought up");
  if (plan.group && !device.attach_multicast(*queues.qp, *plan.group)) {
    throw std::runtime_error("a queue pair cannot be attached to its group");
  }
  return queues;
}

}  // namespace urxe::replay
