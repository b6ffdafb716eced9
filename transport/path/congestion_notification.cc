// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/congestion_notification.h"

#include <cstring>

namespace urxe {
namespace {

constexpr uint8_t kEcnMask = 0x03;
constexpr uint8_t kCongestionExperienced = 0x03;
constexpr size_t kReservedBytes = 16;

bool knows_its_peer(ibv_qp_state state) {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
         state == IBV_QPS_SQE;
}

}  // namespace

bool is_marked(const Flow& flow) {
  return (flow.traffic_class & kEcnMask) == kCongestionExperienced;
}

void owe_notification(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  if (qp.service == Service::kUd) return;
  if (qp.notified_at && now - *qp.notified_at < kNotificationInterval) return;
  qp.notified_at = now;
  qp.notification_due = true;
  ca.active.push_back(qp);
}

bool send_notification(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch) {
  if (!qp.notification_due) return true;
  if (!knows_its_peer(qp.state())) {
    qp.notification_due = false;
    return true;
  }
  Flow flow = qp.flow();
  flow.traffic_class &= static_cast<uint8_t>(~kEcnMask);
  Headers headers;
  headers.bth.opcode = kCnpOpcode;
  headers.bth.becn = true;
  headers.bth.pkey = qp.pkey;
  headers.bth.dest_qp = qp.dest_qpn;
  uint8_t* reserved = batch.append(flow, headers, kReservedBytes);
  if (reserved == nullptr) return false;
  std::memset(reserved, 0, kReservedBytes);
  batch.commit();
  qp.notification_due = false;
  ++ca.counters.cnps_sent;
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += packet_size(kCnpOpcode, kReservedBytes);
  return true;
}

void receive_notification(ChannelAdapter& ca, QueuePair* qp, const Flow& flow, Instant now) {
  if (qp == nullptr || qp->path == nullptr) return ca.counters.drop(DropReason::kUnknownQp);
  if (!unnumbered_comes_from_peer(ca, *qp, flow)) {
    return ca.counters.drop(DropReason::kWrongPeer);
  }
  ++ca.counters.cnps_handled;
  if (qp->path->on_loss(now)) ++ca.counters.congestion_backoffs;
}

}  // namespace urxe
