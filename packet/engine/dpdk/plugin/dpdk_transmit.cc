// SPDX-License-Identifier: BSD-2-Clause
// How a DpdkEngine makes frames of packets.
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>

#include "packet/engine/dpdk/link/roce_frame.h"
#include "packet/engine/dpdk/plugin/dpdk.h"
#include "packet/engine/dpdk/plugin/thread_registration.h"
#include "packet/engine/raw/frame.h"
#include "packet/wire/ethernet/ethernet_frame.h"

namespace urxe {

size_t DpdkEngine::transmit(TxBatch& batch) {
  const size_t packets = batch.packets();
  if (packets == 0) return 0;
  if (left_ || abandoned_) {
    batch.clear();
    return packets;
  }
  register_thread();
  if (sender_.is_blocked()) sender_.flush();
  bool has_room = true;
  batch.remove_if([&](const TxBatch::Message& message) {
    has_room = has_room && send(batch, message);
    return has_room;
  });
  sender_.serve_link(now_);
  sender_.flush();
  return packets - batch.packets();
}

/// False: there is no room for its frames. If that lasts, they are lost.
bool DpdkEngine::send(const TxBatch& batch, const TxBatch::Message& message) {
  // This process may be a member of the group.
  const size_t frames = message.segments * (message.flow.destination.is_multicast() ? 2 : 1);
  if (!sender_.has_room(frames)) {
    if (!sender_.is_stalled()) return false;
    counters_.tx_queue_full += message.segments;
    return true;
  }
  const uint8_t* const memory = batch.bytes(message).data() - message.offset;
  for (size_t i = 0; i < message.segments; ++i) {
    send(TxBatch::packet_of(message, i), memory, batch.identification(i));
  }
  return true;
}

void DpdkEngine::send(const TxBatch::Message& packet, const uint8_t* memory,
                      uint16_t identification) {
  const Flow& flow = packet.flow;
  if (roce_header_bytes(flow) - kEthernetHeaderBytes + packet.size > port_.mtu()) {
    ++counters_.tx_message_size;
    return;
  }
  const Gid& to = flow.destination;
  if (is_ours(to)) {
    rte_mbuf* const copy = make_frame(packet, memory, identification, port_.mac());
    if (copy != nullptr) sender_.add_local(copy);
    if (!to.is_multicast()) return;
  }
  NextHop hop{NextHop::Kind::kKnown, {}};
  if (to.is_multicast()) {
    hop.mac = group_mac(to);
  } else {
    hop = services_.resolve(to, now_);
  }
  if (hop.kind == NextHop::Kind::kUnreachable) {
    ++counters_.tx_unreachable;
    return;
  }
  rte_mbuf* const frame = make_frame(packet, memory, identification, hop.mac);
  if (frame == nullptr) return;
  if (hop.kind == NextHop::Kind::kKnown) {
    sender_.add(frame);
  } else {
    sender_.add_unresolved(frame, to, now_);
  }
}

rte_mbuf* DpdkEngine::make_frame(const TxBatch::Message& packet, const uint8_t* memory,
                                 uint16_t identification, const MacAddress& to) {
  const Flow& flow = packet.flow;
  rte_mbuf* const frame = sender_.allocate();
  if (frame == nullptr) return nullptr;
  const size_t headers = roce_header_bytes(flow);
  auto* const out = reinterpret_cast<uint8_t*>(
      rte_pktmbuf_append(frame, static_cast<uint16_t>(headers + packet.size)));
  if (out == nullptr) {
    ++counters_.tx_message_size;
    rte_pktmbuf_free(frame);
    return nullptr;
  }
  write_roce_headers(out, flow, identification, packet.size, to, port_.mac());
  TxBatch::copy(packet, memory, out + headers);
  if (headers == kMaxFrameHeaderBytes) write_udp_checksum({out, headers + packet.size}, flow);
  return frame;
}

}  // namespace urxe
