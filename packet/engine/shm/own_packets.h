// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "packet/engine/udp/send_backlog.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// Packets that a process sends to itself: a queue of copies, in memory of its own. If there is no
/// room, packets go by the inner engine, and so do those after them until the sockets are empty:
/// none overtakes another. Allocates with the first packet.
class OwnPackets {
 public:
  /// Packets after which take() adds no further message.
  static constexpr size_t kMostAtOnce = 1024;

  /// False: the packets must go by the inner engine.
  [[nodiscard]] bool put(const TxBatch::Message& message, const uint8_t* memory);
  /// The oldest messages, of about kMostAtOnce packets. Their bytes, at memory(), are valid until
  /// the next call.
  [[nodiscard]] std::span<const TxBatch::Message> take();
  [[nodiscard]] const uint8_t* memory() const { return queue_->memory(); }
  /// Whether a take() would return something.
  [[nodiscard]] bool has_next() const { return queue_ != nullptr && queue_->count() > taken_; }
  /// Whether all that was put is taken, and packets behind it went by the inner engine.
  [[nodiscard]] bool rest_is_elsewhere() const { return overflowed_ && !has_next(); }
  /// The inner engine has nothing more for this process.
  void note_sockets_empty() { overflowed_ = false; }

 private:
  std::unique_ptr<SendBacklog> queue_;
  size_t taken_ = 0;  ///< messages that take() returned the last time
  bool overflowed_ = false;
};

}  // namespace urxe
