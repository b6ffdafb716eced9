// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/gsi.h"

#include <algorithm>

#include "transport/device/address.h"
#include "transport/device/channel_adapter.h"

namespace urxe {
namespace {

/// MADs that may go out between two turns of the queue pairs.
constexpr int kMadsPerTurn = 32;

std::optional<DropReason> reason_to_drop(const ChannelAdapter& ca, const PacketView& packet,
                                         const Flow& flow) {
  const Headers& headers = packet.headers;
  // A MAD comes alone: no immediate data.
  if (headers.bth.opcode != Opcode(Service::kUd, Operation::kSendOnly)) {
    return DropReason::kWrongService;
  }
  if (!pkeys_match(headers.bth.pkey, kDefaultPKey)) return DropReason::kBadPKey;
  if (headers.deth.qkey != kGsiQKey) return DropReason::kBadQKey;
  if (flow.destination.is_zero() || !is_own_address(ca.config, flow.destination)) {
    return DropReason::kNoSuchGid;
  }
  return std::nullopt;
}

}  // namespace

void GeneralServices::set_source_port(const Gid& local, uint16_t port) {
  const auto found = std::ranges::find(source_ports_, local, &SourcePort::local);
  if (found != source_ports_.end()) {
    found->port = port;
  } else {
    source_ports_.push_back({local, port});
  }
}

void GeneralServices::forget_source_port(const Gid& local) {
  std::erase_if(source_ports_, [&](const SourcePort& port) { return port.local == local; });
}

std::optional<uint16_t> GeneralServices::source_port(const Gid& local) const {
  const auto found = std::ranges::find(source_ports_, local, &SourcePort::local);
  if (found == source_ports_.end()) return std::nullopt;
  return found->port;
}

void GeneralServices::receive(ChannelAdapter& ca, const PacketView& packet, const Flow& flow,
                              Instant now) {
  if (const auto reason = reason_to_drop(ca, packet, flow)) return ca.counters.drop(*reason);
  if (packet.payload.size() != kMadBytes) return cm_.receive(packet.payload, flow, now);
  // The sender of a packet that came through memory may go on writing there.
  MadBytes mad;
  std::ranges::copy(packet.payload, mad.begin());
  if (mads_.wants(mad)) {
    mads_.receive(mad, flow, packet.headers.deth.source_qp);
  } else {
    cm_.receive(mad, flow, now);
  }
}

bool GeneralServices::transmit(ChannelAdapter& ca, TxBatch& batch) {
  is_overdue_ = false;
  if (held_up_) {
    if (!append(ca, batch, *held_up_)) return false;
    held_up_.reset();
  }
  for (int left = kMadsPerTurn; left > 0; --left) {
    const OutgoingMad* const outgoing = take_outgoing();
    if (outgoing == nullptr) break;
    if (append(ca, batch, *outgoing)) continue;
    held_up_ = *outgoing;
    return false;
  }
  return true;
}

/// Connections go first: they are what other things wait for.
const OutgoingMad* GeneralServices::take_outgoing() {
  return cm_.has_outgoing() ? cm_.take_outgoing() : mads_.take_outgoing();
}

bool GeneralServices::append(ChannelAdapter& ca, TxBatch& batch, const OutgoingMad& outgoing) {
  Flow flow = outgoing.flow;
  if (const auto port = source_port(flow.source)) flow.source_port = *port;
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
  headers.bth.dest_qp = outgoing.qpn;
  headers.bth.psn = next_psn_;
  headers.bth.ack_req = true;  // nobody answers it, but rxe and mlx5 send it so
  headers.deth = {kGsiQKey, kGsiQpn};
  uint8_t* const payload = batch.append(flow, headers, outgoing.mad.size());
  if (payload == nullptr) return false;
  std::ranges::copy(outgoing.mad, payload);
  batch.commit();
  next_psn_ = next_psn_ + 1;
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += packet_size(headers.bth.opcode, outgoing.mad.size());
  return true;
}

}  // namespace urxe
