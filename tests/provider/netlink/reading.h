// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstring>
#include <string>

#include "packet/host/netlink_request.h"
#include "provider/netlink/message.h"

namespace urxe::netlink {

// What a program that receives messages makes of them.

inline Request read_message(const Bytes& bytes) {
  std::span<const uint8_t> rest(bytes);
  return take_request(rest).value_or(Request{});
}

inline std::string text_in(std::span<const uint8_t> attributes, uint16_t type) {
  const auto bytes = find_attribute(attributes, type);
  return bytes.empty() ? "" : std::string(reinterpret_cast<const char*>(bytes.data()));
}

template <class Value>
Value value_in(std::span<const uint8_t> attributes, uint16_t type) {
  const auto bytes = find_attribute(attributes, type);
  Value value{};
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// Calls `visit` with each of the attributes in a table.
template <class Visit>
void for_each_entry(std::span<const uint8_t> table, Visit visit) {
  while (table.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, table.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > table.size()) return;
    visit(table.subspan(sizeof head, head.nla_len - sizeof head));
    table = table.subspan(std::min<size_t>(NLA_ALIGN(head.nla_len), table.size()));
  }
}

/// A request with the attributes that `add` adds.
template <class Add>
Bytes write_request(uint16_t type, uint16_t flags, Add add) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = static_cast<uint16_t>(flags | NLM_F_REQUEST);
  header.nlmsg_seq = 77;
  MessageWriter writer(header);
  add(writer);
  return writer.finish();
}

}  // namespace urxe::netlink
