// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/base/time.h"
#include "packet/engine/stall_watch.h"
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

  /// Returns false, and keeps nothing, if the backlog is full or refuses(). The message's offset
  /// counts from `memory`.
  bool push(const TxBatch::Message& message, const uint8_t* memory);
  /// Asks, after push() has returned false, whether the message is to be given up: nothing has left
  /// the backlog for longer than `patience`. False: it should wait. Then this backlog refuses all
  /// that follows, which must not overtake it, until try_again().
  [[nodiscard]] bool gives_up(Instant now, Duration patience) {
    refuses_ = !stall_.is_stalled(now, patience);
    return !refuses_;
  }
  /// Whether a message was refused that waits to be pushed again.
  [[nodiscard]] bool refuses() const { return refuses_; }
  void try_again() { refuses_ = false; }
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
  bool refuses_ = false;
  StallWatch stall_;
};

}  // namespace urxe
