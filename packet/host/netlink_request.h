// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe {

/// An answer of rtnetlink: a structure that depends on the request, and attributes.
class NetlinkAnswer {
 public:
  explicit NetlinkAnswer(std::vector<uint8_t> payload) : payload_(std::move(payload)) {}

  /// The structure at the start of the payload; zeros if the payload is shorter.
  template <class Header>
  [[nodiscard]] Header header() const {
    Header header{};
    if (payload_.size() >= sizeof header) std::memcpy(&header, payload_.data(), sizeof header);
    return header;
  }
  /// The attribute's bytes after a structure of `header_size`; empty: there is none. They belong to
  /// this object.
  [[nodiscard]] std::span<const uint8_t> attribute(size_t header_size, uint16_t type) const;

 private:
  std::vector<uint8_t> payload_;
};

/// The bytes of the first attribute of the type in a row of attributes; empty: there is none.
std::span<const uint8_t> find_attribute(std::span<const uint8_t> attributes, uint16_t type);

/// A socket for requests to rtnetlink, in the calling thread's network namespace, which all
/// requests through it then are about. EMFILE and the like.
Expected<FileDescriptor, Errno> open_netlink();

/// A request to rtnetlink that has one answer. The answer is there when the request has been sent:
/// nothing blocks.
class NetlinkRequest {
 public:
  template <class Header>
  NetlinkRequest(uint16_t type, const Header& header) : type_(type) {
    payload_.resize(sizeof header);
    std::memcpy(payload_.data(), &header, sizeof header);
  }
  void add(uint16_t type, std::span<const uint8_t> value);
  void add(uint16_t type, uint32_t value);
  /// As many bytes as the address's family has.
  void add(uint16_t type, const Gid& address);

  /// In the calling thread's network namespace. The errno of the kernel's answer, or of a system
  /// call. Allocates.
  Expected<NetlinkAnswer, Errno> ask() const;
  /// Through a socket of open_netlink(), which only one thread uses at a time.
  Expected<NetlinkAnswer, Errno> ask(int fd) const;

 private:
  uint16_t type_;
  std::vector<uint8_t> payload_;
};

/// The address in an attribute of 4 or 16 bytes.
std::optional<Gid> gid_of(std::span<const uint8_t> attribute);

}  // namespace urxe
