// SPDX-License-Identifier: BSD-2-Clause
// Raw packets: flow steering, and whole Ethernet frames in and out.
#include <cerrno>

#include "packet/base/bytes.h"
#include "packet/base/check.h"
#include "packet/wire/ethernet/frame_checksum.h"
#include "transport/device/address.h"
#include "transport/device/device_impl.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/raw_requester.h"
#include "transport/responder/raw_responder.h"

namespace urxe {
namespace {

/// Frames that a queue pair may send before the next one has its turn.
constexpr uint32_t kTurnFrames = 32;

Gid ip_destination(std::span<const uint8_t> frame, const FrameHeaders& headers) {
  constexpr size_t kIpv4DestinationAt = 16;
  constexpr size_t kIpv6DestinationAt = 24;
  const uint8_t* const ip = frame.data() + headers.network_at;
  return headers.network == FrameHeaders::Network::kIpv4 ? Gid::from_ipv4(ip + kIpv4DestinationAt)
                                                         : Gid::from_ipv6(ip + kIpv6DestinationAt);
}

/// Whether a frame is for the RoCE transport of this device. A NIC takes such frames before it
/// looks at flow steering rules.
bool is_rdma(const ChannelAdapter& ca, std::span<const uint8_t> frame,
             const FrameHeaders& headers) {
  if (headers.transport != FrameHeaders::Transport::kUdp) return false;
  if (load_be16(frame.data() + headers.transport_at + 2) != kRoceUdpPort) return false;
  const Gid destination = ip_destination(frame, headers);
  return is_own_address(ca.config, destination) || ca.multicast.has(destination);
}

/// Gives a frame to the queue pairs that its rules lead to, but for those of the context that has
/// sent it.
void steer(ChannelAdapter& ca, const RxFrame& frame, const QueuePair* sender) {
  const auto headers = parse_frame_headers(frame.bytes);
  if (!headers) return;
  const auto result = ca.steering.find(frame, *headers, is_rdma(ca, frame.bytes, *headers));
  if (result.dropped) ++ca.counters.frames_dropped;
  if (result.queue_pairs.empty()) return;
  const bool right = checksums_are_right(frame.bytes, *headers, frame.transport_is_right);
  for (QueuePair* qp : result.queue_pairs) {
    if (sender != nullptr && qp->context == sender->context) continue;
    if (!receives_in(qp->state())) {
      ca.counters.drop(DropReason::kQpState);
      continue;
    }
    receive_frame(ca, *qp, frame, right);
    fail_if_cq_failed(ca, *qp);
  }
}

/// What a queue pair sends is for those of other contexts of the device, too, as with mlx5.
void loop_back(ChannelAdapter& ca, const QueuePair& sender,
               std::span<const std::span<uint8_t>> frames) {
  if (ca.steering.empty()) return;
  for (const auto frame : frames) steer(ca, {frame, RxFrame::To::kLoopedBack}, &sender);
}

}  // namespace

void Device::set_interface_mtu(uint32_t mtu) {
  impl_->ca.config.interface_mtu = mtu;
}

Expected<FlowId, Errno> Device::add_flow(QueuePair& qp, const FlowRule& rule) {
  if (qp.type == IBV_QPT_UD) return error(EOPNOTSUPP);
  if (qp.type != IBV_QPT_RAW_PACKET) return error(EINVAL);
  return impl_->ca.steering.add(qp, rule);
}

void Device::remove_flow(FlowId flow) {
  impl_->ca.steering.remove(flow);
}

FrameInterest Device::frame_interest() const {
  return impl_->ca.steering.interest();
}

void Device::receive_frame(const RxFrame& frame, Instant now) {
  impl_->ca.now = now;
  steer(impl_->ca, frame, nullptr);
}

bool Device::transmit_frames(FrameBatch& batch, Instant now) {
  ChannelAdapter& ca = impl_->ca;
  ca.now = now;
  while (QueuePair* qp = ca.sending_frames.front()) {
    const size_t before = batch.size();
    const Turn turn = urxe::transmit_frames(ca, *qp, batch, now, kTurnFrames);
    loop_back(ca, *qp, batch.frames().subspan(before));
    fail_if_cq_failed(ca, *qp);
    if (turn == Turn::kIdle) {
      ca.sending_frames.remove(*qp);
      continue;
    }
    ca.sending_frames.move_to_back(*qp);
    if (turn == Turn::kBatchFull) {
      if (!check(!batch.empty())) ca.sending_frames.remove(*qp);
      return true;
    }
  }
  return false;
}

}  // namespace urxe
