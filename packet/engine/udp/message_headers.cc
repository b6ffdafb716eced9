// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/message_headers.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <cstring>

#include "packet/engine/udp/udp_socket.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace urxe {
namespace {

class ControlWriter {
 public:
  explicit ControlWriter(uint8_t* to) : to_(to) {}

  template <class T>
  void add(int level, int type, T value) {
    auto* const c = reinterpret_cast<cmsghdr*>(to_ + size_);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(CMSG_DATA(c), &value, sizeof value);
    size_ += CMSG_SPACE(sizeof value);
  }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  uint8_t* to_;
  size_t size_ = 0;
};

/// Writes only fields that differ from the socket's defaults, because each costs the kernel time.
size_t write_control(uint8_t* to, const TxBatch::Message& message) {
  ControlWriter control(to);
  const Flow& flow = message.flow;
  const bool ipv4 = flow.destination.is_ipv4();
  if (message.segments > 1) {
    control.add(IPPROTO_UDP, UDP_SEGMENT, static_cast<uint16_t>(message.segment_size));
  }
  if (flow.traffic_class != 0) {
    control.add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS,
                static_cast<int>(flow.traffic_class));
  }
  const uint8_t hop_limit = flow.hop_limit == 0 ? kDefaultHopLimit : flow.hop_limit;
  // The kernel has another default, 1, for multicast.
  if (hop_limit != kDefaultHopLimit || flow.destination.is_multicast()) {
    control.add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT,
                static_cast<int>(hop_limit));
  }
  return control.size();
}

}  // namespace

bool has_default_fields(const Flow& flow) {
  return flow.traffic_class == 0 && (flow.hop_limit == kDefaultHopLimit || flow.hop_limit == 0) &&
         !flow.destination.is_multicast();
}

size_t MessageHeaders::describe(std::span<const TxBatch::Message> messages, const uint8_t* memory) {
  size_t used = 0;
  size_t i = 0;
  for (; i < messages.size() && TxBatch::pieces(messages[i]) <= kPieces - used; ++i) {
    const size_t first = used;
    TxBatch::for_each_piece(messages[i], memory, [&](std::span<const uint8_t> piece) {
      pieces_[used++] = {const_cast<uint8_t*>(piece.data()), piece.size()};
    });
    describe(i, messages[i], std::span(pieces_).subspan(first, used - first));
  }
  return i;
}

void MessageHeaders::describe(size_t i, const TxBatch::Message& message, std::span<iovec> pieces) {
  destinations_[i] = SocketAddress(message.flow.destination, kRoceUdpPort, scope_);
  msghdr& header = headers_[i].msg_hdr;
  header.msg_name = destinations_[i].get();
  header.msg_namelen = destinations_[i].size();
  header.msg_iov = pieces.data();
  header.msg_iovlen = pieces.size();
  header.msg_controllen = write_control(controls_[i].bytes, message);
  header.msg_control = header.msg_controllen == 0 ? nullptr : controls_[i].bytes;
}

}  // namespace urxe
