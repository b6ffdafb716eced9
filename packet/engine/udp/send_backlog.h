// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "packet/wire/tx_batch.h"

namespace urxe {

/// Copies of messages that wait for room in a socket buffer, oldest first. Bounded.
class SendBacklog {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kMessages = 1024;

  /// Returns false, and keeps nothing, if the backlog is full. The message's offset counts from
  /// `memory`.
  bool push(const TxBatch::Message& message, const uint8_t* memory);
  [[nodiscard]] std::span<const TxBatch::Message> messages() const {
    return std::span(messages_).subspan(first_);
  }
  [[nodiscard]] const uint8_t* memory() const { return memory_.get(); }
  void pop(size_t count);
  [[nodiscard]] bool empty() const { return first_ == messages_.size(); }

 private:
  std::unique_ptr<uint8_t[]> memory_;  ///< allocated when first needed
  size_t used_ = 0;
  std::vector<TxBatch::Message> messages_;
  size_t first_ = 0;
};

}  // namespace urxe
