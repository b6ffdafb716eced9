// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace urxe {

/// Ethernet frames to send, in order. Allocates memory only in the constructor.
class FrameBatch {
 public:
  static constexpr size_t kMaxFrames = 64;
  static constexpr size_t kBytes = 256 * 1024;  ///< several frames of the largest MTU

  FrameBatch() : memory_(std::make_unique<uint8_t[]>(kBytes)) {}

  /// Starts a frame, and returns the place of its `bytes`, which the caller fills before commit().
  /// nullptr: the batch is full.
  [[nodiscard]] uint8_t* append(size_t bytes) {
    if (end_ == kMaxFrames || bytes > kBytes - used_) return nullptr;
    open_ = bytes;
    return memory_.get() + used_;
  }
  /// Ends the frame that append() started; without it the next append() drops the frame.
  void commit() {
    frames_[end_++] = {memory_.get() + used_, open_};
    used_ += open_;
  }

  [[nodiscard]] bool empty() const { return first_ == end_; }
  [[nodiscard]] size_t size() const { return end_ - first_; }
  [[nodiscard]] std::span<const std::span<uint8_t>> frames() const {
    return {frames_.data() + first_, size()};
  }
  /// Removes the first `count` frames. Room for new ones comes when all are gone.
  void pop(size_t count) {
    first_ += count;
    if (empty()) first_ = end_ = used_ = 0;
  }

 private:
  std::unique_ptr<uint8_t[]> memory_;
  std::array<std::span<uint8_t>, kMaxFrames> frames_{};
  size_t first_ = 0;
  size_t end_ = 0;
  size_t used_ = 0;  ///< bytes
  size_t open_ = 0;  ///< bytes of the frame that append() started
};

}  // namespace urxe
