// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/frames/frame_port.h"

#include <linux/if_packet.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "packet/base/bytes.h"
#include "packet/engine/frames/frame_filter.h"
#include "packet/engine/raw/packet_socket.h"
#include "packet/host/uncancelled.h"
#include "packet/wire/ethernet/frame_segments.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr int kSocketBufferBytes = 4 << 20;
constexpr size_t kRingBlocks = 64;
/// What one receive() takes, unless a super-frame holds more.
constexpr size_t kFramesPerReceive = 64;
/// While half of it is free there is room for one more super-frame.
constexpr size_t kScratchBytes = 2 * FrameSegments::kMaxBytes;

Unexpected<EngineError> no_packet_socket(int errno_value) {
  const std::string what = "cannot open a packet socket for a raw packet queue pair: ";
  if (errno_value == EPERM || errno_value == EACCES) {
    return Unexpected<EngineError>(
        {EPERM, what + "it needs the capability CAP_NET_RAW. What to do: run as root, or as root "
                       "start \"setpriv --reuid=USER --regid=GROUP --init-groups "
                       "--inh-caps=+net_raw --ambient-caps=+net_raw -- urxe run ...\""});
  }
  return Unexpected<EngineError>({errno_value, what + std::strerror(errno_value)});
}

Unexpected<EngineError> frames_failed(const char* step, int errno_value) {
  return Unexpected<EngineError>({errno_value, std::string("raw packets cannot be received: ") +
                                                   step + ": " + std::strerror(errno_value)});
}

RxFrame::To receiver_of(uint8_t packet_type) {
  if (packet_type == PACKET_OUTGOING) return RxFrame::To::kOutgoing;
  return packet_type == PACKET_OTHERHOST ? RxFrame::To::kOther : RxFrame::To::kThisHost;
}

/// Fills in the checksum that the kernel has left to the hardware. False: it has no place.
bool complete_checksum(std::span<uint8_t> frame, const VnetHeader& vnet) {
  const size_t start = vnet.checksum_start;
  const size_t at = start + vnet.checksum_at;
  if (at + 2 > frame.size()) return false;
  InternetChecksum checksum;
  checksum.add(frame.subspan(start));
  const uint16_t sum = checksum.value();
  store_be16(frame.data() + at, sum == 0 ? uint16_t{0xffff} : sum);
  return true;
}

/// Puts the VLAN tag back that the kernel has taken out.
void restore_vlan_tag(RxRing::Frame& frame) {
  constexpr size_t kAddressBytes = 12;
  static_assert(kVlanTagBytes <= RxRing::kHeadroom);
  if (!frame.vlan_tag || frame.bytes.size() < kAddressBytes) return;
  uint8_t* const begin = frame.bytes.data() - kVlanTagBytes;
  std::memmove(begin, frame.bytes.data(), kAddressBytes);
  store_be32(begin + kAddressBytes, *frame.vlan_tag);
  frame.bytes = {begin, frame.bytes.size() + kVlanTagBytes};
}

}  // namespace

Expected<std::unique_ptr<FramePort>, EngineError> FramePort::open(uint32_t ifindex) {
  FileDescriptor receiver = open_silent_packet_socket(kSocketBufferBytes);
  if (!receiver) return no_packet_socket(errno);
  FileDescriptor sender = open_sending_packet_socket(ifindex, kSocketBufferBytes);
  if (!sender) return no_packet_socket(errno);
  if (auto silent = attach_frame_filter(receiver.get(), {}); !silent) {
    return no_packet_socket(silent.error().value);
  }
  return std::unique_ptr<FramePort>(new FramePort(ifindex, std::move(receiver), std::move(sender)));
}

FramePort::FramePort(uint32_t ifindex, FileDescriptor receiver, FileDescriptor sender)
    : ifindex_(ifindex), receiver_(std::move(receiver)), sender_(std::move(sender)) {}

FramePort::~FramePort() = default;

Expected<void, EngineError> FramePort::start() {
  const int fd = receiver_.get();
  if (!scratch_) {
    scratch_ = std::make_unique_for_overwrite<uint8_t[]>(kScratchBytes);
    frames_.reserve(FrameSegments::kMaxSegments + kFramesPerReceive);
  }
  if (!ring_) {
    if (!make_packet_ring(fd, kRingBlocks)) return frames_failed("its ring", errno);
    auto ring = RxRing::map(fd, kRingBlocks);
    if (!ring) {
      drop_packet_ring(fd);  // or it could not be made again
      return frames_failed("its ring", ring.error().value);
    }
    ring_.emplace(std::move(*ring));
  }
  if (!start_packet_socket(fd, ifindex_)) return frames_failed("bind to the interface", errno);
  receives_ = true;
  return {};
}

Expected<void, EngineError> FramePort::subscribe(const FrameInterest& interest) {
  if (!interest.any && !receives_) return {};
  if (auto filtered = attach_frame_filter(receiver_.get(), interest); !filtered) {
    return frames_failed("attach the filter", filtered.error().value);
  }
  if (!show_outgoing_packets(receiver_.get(), interest.outgoing)) {
    return frames_failed("set its direction", errno);
  }
  set_membership(interest);
  return receives_ ? Expected<void, EngineError>{} : start();
}

bool FramePort::change(int option, const Membership& membership) const {
  packet_mreq request{};
  request.mr_ifindex = static_cast<int>(ifindex_);
  request.mr_type = membership.type;
  request.mr_alen = static_cast<uint16_t>(membership.address.size());
  std::ranges::copy(membership.address, request.mr_address);
  return setsockopt(receiver_.get(), SOL_PACKET, option, &request, sizeof request) == 0;
}

/// An interface that cannot be told of an address must take all frames. What an interface refuses
/// even so, it cannot do.
void FramePort::set_membership(const FrameInterest& interest) {
  std::vector<Membership> wanted;
  if (interest.promiscuous) wanted.push_back({PACKET_MR_PROMISC, {}});
  if (interest.all_groups) wanted.push_back({PACKET_MR_ALLMULTI, {}});
  for (const MacAddress& address : interest.addresses) {
    const bool group = is_group_address(address.data());
    wanted.push_back(
        {static_cast<uint16_t>(group ? PACKET_MR_MULTICAST : PACKET_MR_UNICAST), address});
  }
  for (Membership& membership : wanted) {
    if (change(PACKET_ADD_MEMBERSHIP, membership)) continue;
    membership = {PACKET_MR_PROMISC, {}};
    (void)change(PACKET_ADD_MEMBERSHIP, membership);
  }
  for (const Membership& membership : memberships_) {
    (void)change(PACKET_DROP_MEMBERSHIP, membership);
  }
  memberships_ = std::move(wanted);
}

std::span<const RxFrame> FramePort::receive() {
  frames_.clear();
  scratch_used_ = 0;
  if (!ring_) return {};
  ring_->release();
  RxRing::Frame frame;
  while (frames_.size() < kFramesPerReceive &&
         scratch_used_ + FrameSegments::kMaxBytes <= kScratchBytes && ring_->next(frame)) {
    if (frame.whole) {
      take(frame);
    } else {
      ++counters_.receive_lost;
    }
  }
  return frames_;
}

void FramePort::take(RxRing::Frame& frame) {
  constexpr uint8_t kEcnBit = 0x80;
  const RxFrame::To to = receiver_of(frame.packet_type);
  const auto kind = static_cast<uint8_t>(frame.vnet.gso_type & ~kEcnBit);
  bool is_right = (frame.vnet.flags & VnetHeader::kChecksumIsRight) != 0;
  const bool needs_checksum = (frame.vnet.flags & VnetHeader::kNeedsChecksum) != 0;
  if (kind == VnetHeader::kNoSegments && needs_checksum) {
    is_right = complete_checksum(frame.bytes, frame.vnet);
  }
  restore_vlan_tag(frame);
  switch (kind) {
    case VnetHeader::kNoSegments:
      frames_.push_back({frame.bytes, to, is_right});
      break;
    case VnetHeader::kTcpIpv4Segments:
    case VnetHeader::kTcpIpv6Segments:
      take_segments(frame, FrameHeaders::Transport::kTcp, to);
      break;
    case VnetHeader::kUdpSegments:
      take_segments(frame, FrameHeaders::Transport::kUdp, to);
      break;
    default:
      ++counters_.receive_lost;
  }
}

void FramePort::take_segments(const RxRing::Frame& frame, FrameHeaders::Transport transport,
                              RxFrame::To to) {
  const auto segments = FrameSegments::of(frame.bytes, transport, frame.vnet.segment_size);
  if (!segments) {
    ++counters_.receive_lost;
    return;
  }
  for (size_t i = 0; i < segments->count(); ++i) {
    uint8_t* const out = scratch_.get() + scratch_used_;
    segments->write(i, out);
    frames_.push_back({{out, segments->bytes(i)}, to, true});
    scratch_used_ += segments->bytes(i);
  }
}

void FramePort::transmit(FrameBatch& batch) {
  std::array<iovec, FrameBatch::kMaxFrames> parts;
  std::array<mmsghdr, FrameBatch::kMaxFrames> calls;
  while (!batch.empty()) {
    const auto frames = batch.frames();
    for (size_t i = 0; i < frames.size(); ++i) {
      parts[i] = {frames[i].data(), frames[i].size()};
      calls[i] = {};
      calls[i].msg_hdr.msg_iov = &parts[i];
      calls[i].msg_hdr.msg_iovlen = 1;
    }
    const int sent = uncancelled::sendmmsg(sender_.get(), calls.data(),
                                           static_cast<unsigned>(frames.size()), MSG_DONTWAIT);
    if (sent > 0) {
      batch.pop(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      ++counters_.send_lost;
      batch.pop(1);
    }
  }
}

void FramePort::count_lost_in_ring() {
  tpacket_stats statistics{};
  socklen_t size = sizeof statistics;
  // Reading them sets them to 0.
  if (getsockopt(receiver_.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0) {
    counters_.receive_lost += statistics.tp_drops;
  }
}

FramePort::Counters FramePort::counters() {
  if (receives_) count_lost_in_ring();
  return counters_;
}

void FramePort::clear_error(int fd) {
  int ignored = 0;
  socklen_t size = sizeof ignored;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &ignored, &size);
}

void FramePort::abandon() {
  if (ring_) ring_->abandon();
  ring_.reset();
}

}  // namespace urxe
