// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/wire/ethernet/ethernet_frame.h"

namespace urxe {

/// The frames that the kernel has joined into one super-frame, or that a sender on this host has
/// left it to make (segmentation offload): as they were, or would be, on the wire.
class FrameSegments {
 public:
  /// The most that the frames of a super-frame may take together. 64 KiB of TCP over IPv6 with
  /// timestamps fit in segments of 36 bytes.
  static constexpr size_t kMaxBytes = size_t{256} << 10;
  static constexpr size_t kMaxHeaderBytes = 256;
  /// No more frames fit into that: each has the headers of Ethernet, IPv4 and UDP, and a byte.
  static constexpr size_t kMaxSegments = kMaxBytes / (14 + 20 + 8 + 1);

  /// `segment_size`: TCP or UDP payload of all segments but the last. Nullopt: it is not such a
  /// frame, or its segments are too many.
  static std::optional<FrameSegments> of(std::span<const uint8_t> frame,
                                         FrameHeaders::Transport transport, size_t segment_size);

  [[nodiscard]] size_t count() const { return count_; }
  /// The size of a frame, headers included.
  [[nodiscard]] size_t bytes(size_t index) const { return header_bytes_ + payload_bytes(index); }
  /// Writes a frame with its own lengths, numbers and checksums.
  void write(size_t index, uint8_t* out) const;

 private:
  FrameSegments(std::span<const uint8_t> frame, const FrameHeaders& headers, size_t header_bytes,
                size_t segment_size);
  [[nodiscard]] size_t payload_bytes(size_t index) const;
  void number(size_t index, uint8_t* out) const;

  std::span<const uint8_t> frame_;
  FrameHeaders headers_;
  size_t header_bytes_;
  size_t segment_size_;
  size_t payload_;  ///< of all segments
  size_t count_;
};

}  // namespace urxe
