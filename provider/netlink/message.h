// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace urxe::netlink {

using Bytes = std::vector<uint8_t>;

/// A message of RDMA netlink that is being written: a header, and attributes that may be nested.
class MessageWriter {
 public:
  /// The length is filled in by finish().
  explicit MessageWriter(const nlmsghdr& header);

  /// Bytes that are no attribute.
  void append(const void* data, size_t size);
  void add(uint16_t type, std::span<const uint8_t> value);
  void add_u8(uint16_t type, uint8_t value) { add_value(type, value); }
  void add_u32(uint16_t type, uint32_t value) { add_value(type, value); }
  void add_u64(uint16_t type, uint64_t value) { add_value(type, value); }
  /// With a terminating zero.
  void add_string(uint16_t type, std::string_view value);
  /// What is added until end_nest() is called with the result belongs to one attribute.
  size_t begin_nest(uint16_t type);
  void end_nest(size_t nest);
  /// Removes what was added since begin_nest() has returned `nest`, with the nest.
  void drop_nest(size_t nest) { bytes_.resize(nest); }

  [[nodiscard]] size_t size() const { return bytes_.size(); }
  [[nodiscard]] Bytes finish();

 private:
  template <class Value>
  void add_value(uint16_t type, Value value) {
    add(type, {reinterpret_cast<const uint8_t*>(&value), sizeof value});
  }

  Bytes bytes_;
};

/// A message that a program has sent. `payload` is a part of the caller's bytes.
struct Request {
  nlmsghdr header{};
  std::span<const uint8_t> payload;

  [[nodiscard]] bool has_flag(uint16_t flag) const { return (header.nlmsg_flags & flag) != 0; }
  [[nodiscard]] bool is_dump() const { return (header.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP; }
  [[nodiscard]] bool has(uint16_t attribute) const;
  /// The value of an attribute of 4 bytes; nullopt: there is none.
  [[nodiscard]] std::optional<uint32_t> number(uint16_t attribute) const;
};

/// Takes the next message from the front of `bytes`; nullopt: what is left there is none.
std::optional<Request> take_request(std::span<const uint8_t>& bytes);

/// The end of an answer, which goes to the port of a program's socket.
struct Ending {
  uint32_t port = 0;
  int errno_value = 0;             ///< 0: done
  std::string_view explanation{};  ///< for a socket with NETLINK_EXT_ACK; empty: none
  bool caps = false;               ///< the socket has NETLINK_CAP_ACK
  bool explains = false;           ///< the socket has NETLINK_EXT_ACK
};

/// NLMSG_ERROR, which is also the acknowledgement.
Bytes acknowledge(const Request& request, const Ending& ending);
/// NLMSG_DONE.
Bytes end_dump(const Request& request, uint32_t port);

}  // namespace urxe::netlink
