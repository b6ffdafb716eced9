// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/host/socket_address.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// Whether a packet's fields are those that its socket gives it.
bool has_default_fields(const Flow& flow);

/// What sendmmsg(2) takes for the messages of a batch.
class MessageHeaders {
 public:
  static constexpr size_t kMost = 64;

  /// `scope`: the interface of link-local addresses.
  explicit MessageHeaders(uint32_t scope) : scope_(scope) {}

  /// Describes the first of up to kMost messages, as many as there is room for, at least one.
  /// Returns how many. Their offsets count from `memory`, which must stay while get() is used.
  size_t describe(std::span<const TxBatch::Message> messages, const uint8_t* memory);
  [[nodiscard]] mmsghdr* get() { return headers_.data(); }

 private:
  static constexpr size_t kPieces = 512;
  struct Control {
    alignas(cmsghdr) uint8_t bytes[128];
  };

  void describe(size_t i, const TxBatch::Message& message, std::span<iovec> pieces);

  uint32_t scope_;
  std::array<mmsghdr, kMost> headers_{};
  std::array<iovec, kPieces> pieces_{};
  std::array<SocketAddress, kMost> destinations_{};
  std::array<Control, kMost> controls_{};
};

}  // namespace urxe
