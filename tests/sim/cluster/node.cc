// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/node.h"

#include <algorithm>

#include "packet/wire/qpn_layout.h"
#include "tests/sim/connect.h"
#include "tests/sim/failure.h"
#include "tests/sim/posting.h"

namespace urxe::sim {
namespace {

constexpr uint32_t kFirstIndex = 16;
/// What a host gives its link ahead of time, as a socket's buffer and a NIC's ring do.
constexpr uint64_t kLinkBacklog = 128 * 1024;
/// What Linux makes of its usual net.core.rmem_max.
constexpr size_t kReceiveBuffer = 425984;
constexpr uint8_t kEct = 2;  ///< "ECN capable transport"
constexpr uint32_t kCqEntries = 65536;

DeviceConfig device_config(const ClusterPlan& plan, uint32_t number) {
  DeviceConfig config;
  config.gids = {node_gid(number)};
  config.key_secret = {plan.seed, number};
  config.min_ack_timeout = milliseconds(4);
  config.keeps_requests = plan.keeps_requests;
  return config;
}

TxBatch::Limits batch_limits() {
  TxBatch::Limits limits;
  limits.bytes = 64 * 1024;
  limits.packets = 16;
  limits.seals = false;
  return limits;
}

ibv_mtu mtu_of(uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048}) {
    if (bytes <= 128U << mtu) return mtu;
  }
  return IBV_MTU_4096;
}

}  // namespace

Gid node_gid(uint32_t host) {
  const uint8_t address[4] = {10, static_cast<uint8_t>(host >> 16), static_cast<uint8_t>(host >> 8),
                              static_cast<uint8_t>(host)};
  return Gid::from_ipv4(address);
}

uint32_t node_of(const Gid& gid) {
  return uint32_t{gid.bytes[13]} << 16 | uint32_t{gid.bytes[14]} << 8 | gid.bytes[15];
}

Node::Node(const ClusterPlan& plan, uint32_t number, std::span<uint8_t> memory, Complete complete)
    : plan_(plan),
      number_(number),
      complete_(std::move(complete)),
      device_(device_config(plan, number)),
      pd_(device_.alloc_pd().value()),
      cq_(device_.create_cq(kCqEntries, nullptr).value()),
      region_(device_
                  .register_memory(
                      pd_, memory.data(), memory.size(), reinterpret_cast<uint64_t>(memory.data()),
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
                  .value()),
      memory_(memory),
      batch_(batch_limits()) {
  device_.set_receive_buffer(kReceiveBuffer);
}

Qpn Node::add_queue_pair(uint32_t flow) {
  QpInit init;
  init.qpn = make_qpn(1, kFirstIndex + static_cast<uint32_t>(flows_.size()));
  init.pd = pd_;
  init.send_cq = init.recv_cq = cq_;
  init.cap = {plan_.depth, 1, 1, 1, 0};
  init.sq_sig_all = true;
  require(device_.create_qp(init).has_value(), [] { return std::string("create_qp failed"); });
  flows_.push_back(flow);
  return init.qpn;
}

void Node::connect(Qpn qpn, uint32_t peer, Qpn peer_qpn, Instant now) {
  QueuePair& qp = *device_.find_qp(qpn);
  ConnectOptions options;
  options.destination = node_gid(peer);
  options.dest_qpn = peer_qpn;
  options.mtu = mtu_of(plan_.path_mtu);
  ibv_qp_attr rtr = rtr_attributes(options);
  rtr.ah_attr.grh.traffic_class = kEct;
  const ConnectMasks masks = connect_masks(qp.type);
  const bool connected =
      device_.modify_qp(qp, init_attributes(options), masks.init, now).has_value() &&
      device_.modify_qp(qp, rtr, masks.rtr, now).has_value() &&
      device_.modify_qp(qp, rts_attributes(options), masks.rts, now).has_value();
  require(connected, [] { return std::string("modify_qp failed"); });
}

void Node::post(Qpn qpn, RKey target) {
  SendRequest request;
  request.wr_id = index_of(qpn);
  request.opcode = plan_.reads ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
  request.sges = {{reinterpret_cast<uint64_t>(memory_.data()), plan_.message_bytes, region_->lkey}};
  request.remote_addr = reinterpret_cast<uint64_t>(memory_.data());
  request.rkey = target;
  require(post_send(device_, *device_.find_qp(qpn), request),
          [] { return std::string("the send queue is full"); });
}

void Node::poll(Instant now) {
  ibv_wc completions[64];
  for (;;) {
    const int count = cq_->poll(64, completions);
    for (int i = 0; i < count; ++i) {
      complete_(flows_[completions[i].wr_id - kFirstIndex], completions[i].status != IBV_WC_SUCCESS,
                now);
    }
    if (count < 64) return;
  }
}

/// True: the link has enough for now, and there is more to send.
bool Node::transmit(Fabric& fabric, Instant now) {
  while (fabric.backlog(number_, now) < kLinkBacklog) {
    const bool more = device_.transmit(batch_, now, AckPolicy::kAll);
    batch_.for_each_packet(
        [&](const TxBatch::Message& message, size_t, std::span<const uint8_t> b) {
          fabric.send(number_, node_of(message.flow.destination), message.flow, b, now);
        });
    const bool sent = !batch_.empty();
    batch_.clear();
    if (!more || !sent) return false;
  }
  return true;
}

void Node::drive(Fabric& fabric, Instant now) {
  device_.advance(now);
  poll(now);
  bool more = transmit(fabric, now);
  poll(now);
  if (!more && device_.doorbell_pending()) more = transmit(fabric, now);
  next_ = device_.next_deadline();
  if (!more) return;
  const Instant room =
      std::max(fabric.when_backlog_is(number_, kLinkBacklog / 2), now + nanoseconds(1));
  next_ = next_ ? std::min(*next_, room) : room;
}

}  // namespace urxe::sim
