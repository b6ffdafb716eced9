// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"

namespace urxe::cm {

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
  /// The attribute's bytes after a structure of `header_size`; empty: there is none.
  [[nodiscard]] std::span<const uint8_t> attribute(size_t header_size, uint16_t type) const;

 private:
  std::vector<uint8_t> payload_;
};

/// A request to rtnetlink that has one answer, in the calling thread's network namespace. The
/// answer is there when the request has been sent: nothing blocks.
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

  /// The errno of the kernel's answer, or of a system call. Allocates.
  Expected<NetlinkAnswer, Errno> ask() const;

 private:
  uint16_t type_;
  std::vector<uint8_t> payload_;
};

/// The address in an attribute of 4 or 16 bytes.
std::optional<Gid> gid_of(std::span<const uint8_t> attribute);

}  // namespace urxe::cm
