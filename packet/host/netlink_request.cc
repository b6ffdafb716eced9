// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/netlink_request.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

constexpr size_t kNetlinkAnswerBytes = 16384;

/// The first message of the received bytes, or the error in it.
Expected<NetlinkAnswer, Errno> read_answer(std::span<const uint8_t> received) {
  nlmsghdr header{};
  if (received.size() < sizeof header) return error(EPROTO);
  std::memcpy(&header, received.data(), sizeof header);
  if (header.nlmsg_len < sizeof header || header.nlmsg_len > received.size()) return error(EPROTO);
  const auto payload = received.subspan(sizeof header, header.nlmsg_len - sizeof header);
  if (header.nlmsg_type != NLMSG_ERROR) {
    return NetlinkAnswer({payload.begin(), payload.end()});
  }
  int code = 0;
  if (payload.size() >= sizeof code) std::memcpy(&code, payload.data(), sizeof code);
  return error(code < 0 ? -code : EPROTO);
}

}  // namespace

std::span<const uint8_t> find_attribute(std::span<const uint8_t> attributes, uint16_t type) {
  size_t skip = 0;
  while (attributes.size() >= skip + sizeof(rtattr)) {
    attributes = attributes.subspan(skip);
    rtattr head{};
    std::memcpy(&head, attributes.data(), sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > attributes.size()) return {};
    if ((head.rta_type & NLA_TYPE_MASK) == type) {
      return attributes.subspan(sizeof head, head.rta_len - sizeof head);
    }
    skip = RTA_ALIGN(head.rta_len);
  }
  return {};
}

std::span<const uint8_t> NetlinkAnswer::attribute(size_t header_size, uint16_t type) const {
  const size_t skip = NLMSG_ALIGN(header_size);
  if (skip > payload_.size()) return {};
  return find_attribute(std::span(payload_).subspan(skip), type);
}

Expected<FileDescriptor, Errno> open_netlink() {
  FileDescriptor fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return error(errno);
  return fd;
}

void NetlinkRequest::add(uint16_t type, std::span<const uint8_t> value) {
  payload_.resize(NLMSG_ALIGN(payload_.size()));
  const rtattr head{static_cast<uint16_t>(sizeof(rtattr) + value.size()), type};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&head);
  payload_.insert(payload_.end(), bytes, bytes + sizeof head);
  payload_.insert(payload_.end(), value.begin(), value.end());
}

void NetlinkRequest::add(uint16_t type, uint32_t value) {
  uint8_t bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  add(type, bytes);
}

void NetlinkRequest::add(uint16_t type, const Gid& address) {
  if (address.is_ipv4()) {
    add(type, std::span(address.ipv4(), 4));
  } else {
    add(type, std::span<const uint8_t>(address.bytes));
  }
}

Expected<NetlinkAnswer, Errno> NetlinkRequest::ask() const {
  const Uncancelled uncancelled;  // until the socket is closed
  const auto fd = open_netlink();
  if (!fd) return error(fd.error().value);
  return ask(fd->get());
}

Expected<NetlinkAnswer, Errno> NetlinkRequest::ask(int fd) const {
  const Uncancelled uncancelled;
  nlmsghdr header{};
  header.nlmsg_len = static_cast<uint32_t>(sizeof header + payload_.size());
  header.nlmsg_type = type_;
  header.nlmsg_flags = NLM_F_REQUEST;
  std::vector<uint8_t> message(header.nlmsg_len);
  std::memcpy(message.data(), &header, sizeof header);
  std::memcpy(message.data() + sizeof header, payload_.data(), payload_.size());
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  // What an earlier request has left there answers another question.
  uint8_t ignored[1];
  while (recv(fd, ignored, sizeof ignored, MSG_DONTWAIT | MSG_TRUNC) >= 0) {
  }
  if (sendto(fd, message.data(), message.size(), 0, reinterpret_cast<sockaddr*>(&kernel),
             sizeof kernel) < 0) {
    return error(errno);
  }
  message.resize(kNetlinkAnswerBytes);
  const ssize_t size = recv(fd, message.data(), message.size(), MSG_DONTWAIT);
  if (size < 0) return error(errno);
  return read_answer({message.data(), static_cast<size_t>(size)});
}

std::optional<Gid> gid_of(std::span<const uint8_t> attribute) {
  if (attribute.size() == 4) return Gid::from_ipv4(attribute.data());
  if (attribute.size() == 16) return Gid::from_ipv6(attribute.data());
  return std::nullopt;
}

}  // namespace urxe
