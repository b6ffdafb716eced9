// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/raw_requester.h"

#include "packet/base/bytes.h"
#include "packet/wire/ethernet/frame_checksum.h"
#include "transport/path/pacing.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/completer.h"
#include "transport/requester/request_packet.h"

namespace urxe {
namespace {

/// The MTU counts neither the Ethernet header nor one VLAN tag. Linux makes no room for the tag of
/// a service provider.
bool fits(const ChannelAdapter& ca, std::span<const uint8_t> frame) {
  const bool tagged = load_be16(frame.data() + kEtherTypeAt) == kEtherTypeVlan;
  const size_t headers = kEthernetHeaderBytes + (tagged ? kVlanTagBytes : 0);
  return frame.size() <= headers + ca.config.interface_mtu;
}

bool length_is_possible(const ChannelAdapter& ca, uint32_t bytes) {
  return bytes >= kEthernetHeaderBytes &&
         bytes <= kEthernetHeaderBytes + kVlanTagBytes + ca.config.interface_mtu;
}

Turn transmit_frame(ChannelAdapter& ca, QueuePair& qp, FrameBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  const uint32_t position = req.send_position;
  const SendWqe& wqe = qp.sq.at(position);
  if (!length_is_possible(ca, wqe.length)) return fail_turn(ca, qp, IBV_WC_LOC_LEN_ERR);
  if (!pacing_admits(ca, qp, wqe.length, now)) return Turn::kIdle;
  uint8_t* const out = batch.append(wqe.length);
  if (out == nullptr) return Turn::kBatchFull;
  if (!gather_all(ca, qp, position, out)) return fail_turn(ca, qp, IBV_WC_LOC_PROT_ERR);
  const std::span frame(out, wqe.length);
  if (!fits(ca, frame)) return fail_turn(ca, qp, IBV_WC_LOC_LEN_ERR);
  if ((wqe.send_flags & IBV_SEND_IP_CSUM) != 0) write_checksums(frame);
  batch.commit();
  ++ca.counters.frames_sent;
  qp.counters.count_sent(wqe.length);
  if (qp.pacer.is_limited()) qp.pacer.charge(wqe.length, now);
  req.assign_position = ++req.send_position;
  complete_oldest_send(ca, qp);
  return Turn::kMore;
}

}  // namespace

Turn transmit_frames(ChannelAdapter& ca, QueuePair& qp, FrameBatch& batch, Instant now,
                     uint32_t budget) {
  for (uint32_t sent = 0; sent < budget; ++sent) {
    if (qp.state() != IBV_QPS_RTS || qp.requester.send_position == qp.sq.posted()) {
      report_drained(ca, qp);
      return Turn::kIdle;
    }
    if (const Turn turn = transmit_frame(ca, qp, batch, now); turn != Turn::kMore) return turn;
  }
  return Turn::kMore;
}

}  // namespace urxe
