// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/wire/tx_batch.h"

namespace urxe {

/// Copies of the messages that wait for room in one socket's buffer, oldest first. Two rings, one
/// of bytes and one of messages: the space of the oldest is free again as soon as it is popped. A
/// message's bytes are never split. Allocates in the constructor only.
class SendBacklog {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;
  static constexpr size_t kMessages = 1024;

  SendBacklog();

  /// Returns false, and keeps nothing, if the backlog is full. The message's offset counts from
  /// `memory`.
  bool push(const TxBatch::Message& message, const uint8_t* memory);
  /// The oldest messages: not always all of them, but some unless the backlog is empty.
  [[nodiscard]] std::span<const TxBatch::Message> messages() const;
  [[nodiscard]] const uint8_t* memory() const { return memory_.get(); }
  /// Forgets the `count` oldest, which messages() has shown.
  void pop(size_t count);
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] size_t count() const { return count_; }

 private:
  /// Where `size` bytes fit in one piece; kBytes: nowhere.
  [[nodiscard]] size_t find_room(size_t size) const;

  std::unique_ptr<uint8_t[]> memory_;
  std::unique_ptr<TxBatch::Message[]> messages_;
  size_t first_ = 0;  ///< index of the oldest message
  size_t count_ = 0;
  size_t end_ = 0;  ///< of the newest message's bytes
};

}  // namespace urxe
