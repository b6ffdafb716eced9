// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/datagram_reader.h"

#include <arpa/inet.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

#include "packet/host/uncancelled.h"

#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace urxe {
namespace {

constexpr size_t kDatagramBytes = 65536;
constexpr uint32_t kFlowLabelMask = 0xfffff;

int int_at(const cmsghdr* c) {
  int value = 0;
  std::memcpy(&value, CMSG_DATA(c), sizeof value);
  return value;
}

bool is(const cmsghdr* c, int level, int type) {
  return c->cmsg_level == level && c->cmsg_type == type;
}

void take_control(const cmsghdr* c, PacketRun& to) {
  if (is(c, IPPROTO_IP, IP_TOS)) {
    to.flow.traffic_class = *CMSG_DATA(c);
  } else if (is(c, IPPROTO_IPV6, IPV6_TCLASS)) {
    to.flow.traffic_class = static_cast<uint8_t>(int_at(c));
  } else if (is(c, IPPROTO_IP, IP_TTL) || is(c, IPPROTO_IPV6, IPV6_HOPLIMIT)) {
    to.flow.hop_limit = static_cast<uint8_t>(int_at(c));
  } else if (is(c, IPPROTO_IPV6, IPV6_FLOWINFO)) {
    // The kernel sends it only if it is not 0. The traffic class stands before the label.
    to.flow.flow_label = ntohl(static_cast<uint32_t>(int_at(c))) & kFlowLabelMask;
  } else if (is(c, IPPROTO_UDP, UDP_GRO) && int_at(c) > 0) {
    to.segment_size = static_cast<size_t>(int_at(c));
  }
}

}  // namespace

DatagramReader::DatagramReader()
    : memory_(std::make_unique_for_overwrite<uint8_t[]>(kBurst * kDatagramBytes)) {
  for (size_t i = 0; i < kBurst; ++i) {
    parts_[i] = {memory_.get() + i * kDatagramBytes, kDatagramBytes};
    rearm(messages_[i].msg_hdr, i);
  }
}

void DatagramReader::rearm(msghdr& message, size_t i) {
  message.msg_name = senders_[i].get();
  message.msg_namelen = SocketAddress::kCapacity;
  message.msg_iov = &parts_[i];
  message.msg_iovlen = 1;
  message.msg_control = controls_[i].bytes;
  message.msg_controllen = kControlBytes;
  message.msg_flags = 0;
}

void DatagramReader::add(msghdr& message, size_t size, const Gid& local) {
  if ((message.msg_flags & MSG_TRUNC) != 0 || size == 0) return;
  PacketRun& datagram = datagrams_[count_++];
  const size_t i = static_cast<size_t>(message.msg_iov - parts_.data());
  datagram.flow.source = senders_[i].gid();
  datagram.flow.destination = local;
  datagram.flow.source_port = senders_[i].port();
  datagram.flow.flow_label = 0;
  datagram.segment_size = size;
  datagram.bytes = {memory_.get() + i * kDatagramBytes, size};
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    take_control(c, datagram);
  }
}

void DatagramReader::adapt_burst() {
  size_t longest = 1;
  for (size_t i = 0; i < used_; ++i) longest = std::max<size_t>(longest, messages_[i].msg_len);
  burst_ = static_cast<unsigned>(std::clamp<size_t>(burst_bytes_ / longest, 1, kBurst));
}

std::span<const PacketRun> DatagramReader::read(int fd, const Gid& local, bool single) {
  for (size_t i = 0; i < used_; ++i) rearm(messages_[i].msg_hdr, i);
  count_ = used_ = 0;
  ++syscalls_;
  if (single) {
    // recvmmsg() would look for a second datagram before it hands over the first.
    const ssize_t size = uncancelled::recvmsg(fd, &messages_[0].msg_hdr, MSG_DONTWAIT);
    if (size < 0) return {};
    used_ = 1;
    add(messages_[0].msg_hdr, static_cast<size_t>(size), local);
  } else {
    const int got = uncancelled::recvmmsg(fd, messages_.data(), burst_, MSG_DONTWAIT);
    if (got < 0) return {};
    used_ = static_cast<size_t>(got);
    for (size_t i = 0; i < used_; ++i) add(messages_[i].msg_hdr, messages_[i].msg_len, local);
    adapt_burst();
  }
  return {datagrams_.data(), count_};
}

}  // namespace urxe
