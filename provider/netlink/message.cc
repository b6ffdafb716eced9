// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/message.h"

#include <algorithm>
#include <cstring>

#include "packet/host/netlink_request.h"

namespace urxe::netlink {

MessageWriter::MessageWriter(const nlmsghdr& header) {
  append(&header, sizeof header);
}

void MessageWriter::append(const void* data, size_t size) {
  const size_t end = bytes_.size();
  bytes_.resize(end + NLMSG_ALIGN(size));
  if (size != 0) std::memcpy(bytes_.data() + end, data, size);
}

void MessageWriter::add(uint16_t type, std::span<const uint8_t> value) {
  const nlattr head{static_cast<uint16_t>(NLA_HDRLEN + value.size()), type};
  append(&head, sizeof head);
  append(value.data(), value.size());
}

void MessageWriter::add_string(uint16_t type, std::string_view value) {
  const nlattr head{static_cast<uint16_t>(NLA_HDRLEN + value.size() + 1), type};
  append(&head, sizeof head);
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  bytes_.push_back(0);
  bytes_.resize(NLMSG_ALIGN(bytes_.size()));
}

size_t MessageWriter::begin_nest(uint16_t type) {
  const size_t nest = bytes_.size();
  const nlattr head{NLA_HDRLEN, static_cast<uint16_t>(type | NLA_F_NESTED)};
  append(&head, sizeof head);
  return nest;
}

void MessageWriter::end_nest(size_t nest) {
  const auto length = static_cast<uint16_t>(bytes_.size() - nest);
  std::memcpy(bytes_.data() + nest + offsetof(nlattr, nla_len), &length, sizeof length);
}

Bytes MessageWriter::finish() {
  const auto length = static_cast<uint32_t>(bytes_.size());
  std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof length);
  return std::move(bytes_);
}

bool Request::has(uint16_t attribute) const {
  return !find_attribute(payload, attribute).empty();
}

std::optional<uint32_t> Request::number(uint16_t attribute) const {
  const auto bytes = find_attribute(payload, attribute);
  uint32_t value = 0;
  if (bytes.size() != sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::optional<Request> take_request(std::span<const uint8_t>& bytes) {
  Request request;
  if (bytes.size() < sizeof request.header) return std::nullopt;
  std::memcpy(&request.header, bytes.data(), sizeof request.header);
  const size_t length = request.header.nlmsg_len;
  if (length < sizeof request.header || length > bytes.size()) return std::nullopt;
  request.payload = bytes.subspan(sizeof request.header, length - sizeof request.header);
  bytes = bytes.subspan(std::min<size_t>(NLMSG_ALIGN(length), bytes.size()));
  return request;
}

Bytes acknowledge(const Request& request, const Ending& ending) {
  const bool explains = ending.explains && !ending.explanation.empty();
  const bool whole = ending.errno_value != 0 && !ending.caps;
  nlmsghdr header{};
  header.nlmsg_type = NLMSG_ERROR;
  header.nlmsg_seq = request.header.nlmsg_seq;
  header.nlmsg_pid = ending.port;
  header.nlmsg_flags =
      static_cast<uint16_t>((whole ? 0 : NLM_F_CAPPED) | (explains ? NLM_F_ACK_TLVS : 0));
  const nlmsgerr body{-ending.errno_value, request.header};
  MessageWriter writer(header);
  writer.append(&body, sizeof body);
  if (whole) writer.append(request.payload.data(), request.payload.size());
  if (explains) writer.add_string(NLMSGERR_ATTR_MSG, ending.explanation);
  return writer.finish();
}

Bytes end_dump(const Request& request, uint32_t port) {
  nlmsghdr header{};
  header.nlmsg_type = NLMSG_DONE;
  header.nlmsg_flags = NLM_F_MULTI;
  header.nlmsg_seq = request.header.nlmsg_seq;
  header.nlmsg_pid = port;
  const int result = 0;
  MessageWriter writer(header);
  writer.append(&result, sizeof result);
  return writer.finish();
}

}  // namespace urxe::netlink
