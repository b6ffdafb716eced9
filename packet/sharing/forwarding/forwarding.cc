// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/forwarding.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>

#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

constexpr uint32_t kMagic = 0x75727832;  // "urx2": to be changed with the layout below

enum class Kind : uint32_t { kPackets = 1, kAnswer = 2 };

/// Precedes the packets. Both ends are one host: native byte order.
struct Header {
  uint32_t magic;
  Kind kind;
  uint8_t source[16];
  uint8_t destination[16];
  uint16_t source_port;
  uint8_t traffic_class;
  uint8_t hop_limit;
  uint32_t segment_size;
  uint32_t is_start;
  // kAnswer
  uint64_t token;
  uint32_t index;
  uint32_t slot;
};
constexpr int kMaxRefused = 16;  ///< datagrams of no use that one read() clears away
constexpr size_t kMaxDatagramBytes = 65536;
constexpr size_t kBufferBytes = sizeof(Header) + kMaxDatagramBytes;

int send_to(int fd, UnixName to, std::span<iovec> parts) {
  msghdr message{};
  message.msg_name = &to.address;
  message.msg_namelen = to.size;
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return uncancelled::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

/// A process that has changed its user may no longer use the path, and one that has changed its
/// root directory does not find it. ENETUNREACH: the socket's file exists, but neither way leads to
/// it.
int send_parts(int fd, const UnixName& to, std::span<iovec> parts) {
  int result = send_to(fd, to, parts);
  const bool is_hidden = result == ENOENT && has_file(to);
  if (result == EACCES || is_hidden) result = send_to(fd, by_descriptor(to), parts);
  return result == ENOENT && is_hidden ? ENETUNREACH : result;
}

ForwardReader::Item decode(std::span<const uint8_t> datagram) {
  Header header{};
  if (datagram.size() < sizeof header) return {};
  std::memcpy(&header, datagram.data(), sizeof header);
  if (header.magic != kMagic) return {};
  if (header.kind == Kind::kAnswer) return ProbeAnswer{header.token, header.index, header.slot};
  if (header.kind != Kind::kPackets || header.segment_size == 0) return {};
  PacketRun packets;
  std::memcpy(packets.flow.source.bytes.data(), header.source, 16);
  std::memcpy(packets.flow.destination.bytes.data(), header.destination, 16);
  packets.flow.source_port = header.source_port;
  packets.flow.traffic_class = header.traffic_class;
  packets.flow.hop_limit = header.hop_limit;
  packets.segment_size = header.segment_size;
  packets.is_start = header.is_start != 0;
  packets.bytes = datagram.subspan(sizeof header);
  return packets;
}

}  // namespace

int forward_packets(int from_fd, const UnixName& to, const PacketRun& packets) {
  Header header{};
  header.magic = kMagic;
  header.kind = Kind::kPackets;
  std::memcpy(header.source, packets.flow.source.bytes.data(), 16);
  std::memcpy(header.destination, packets.flow.destination.bytes.data(), 16);
  header.source_port = packets.flow.source_port;
  header.traffic_class = packets.flow.traffic_class;
  header.hop_limit = packets.flow.hop_limit;
  header.segment_size = static_cast<uint32_t>(packets.segment_size);
  header.is_start = packets.is_start ? 1 : 0;
  iovec parts[2] = {{&header, sizeof header},
                    {const_cast<uint8_t*>(packets.bytes.data()), packets.bytes.size()}};
  return send_parts(from_fd, to, parts);
}

void send_answer(int from_fd, const UnixName& to, const ProbeAnswer& answer) {
  Header header{};
  header.magic = kMagic;
  header.kind = Kind::kAnswer;
  header.token = answer.token;
  header.index = answer.index;
  header.slot = answer.slot;
  iovec part[1] = {{&header, sizeof header}};
  send_parts(from_fd, to, part);
}

ForwardReader::ForwardReader()
    : memory_(std::make_unique_for_overwrite<uint8_t[]>(kBurst * kBufferBytes)) {}

ForwardReader::Item ForwardReader::read(int fd) {
  if (next_buffer_ == kBurst) return {};
  for (int refused = 0; refused < kMaxRefused; ++refused) {
    uint8_t* const buffer = memory_.get() + next_buffer_ * kBufferBytes;
    iovec part{buffer, kBufferBytes};
    // No room for what else comes along, such as file descriptors.
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    const ssize_t size = uncancelled::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return {};
    if ((message.msg_flags & MSG_TRUNC) != 0) continue;
    Item item = decode({buffer, static_cast<size_t>(size)});
    if (std::holds_alternative<std::monostate>(item)) continue;
    if (std::holds_alternative<PacketRun>(item)) ++next_buffer_;
    return item;
  }
  return {};
}

}  // namespace urxe
