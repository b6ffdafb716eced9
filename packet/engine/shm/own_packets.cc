// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/own_packets.h"

#include <new>

namespace urxe {

bool OwnPackets::put(const TxBatch::Message& message, const uint8_t* memory) {
  if (overflowed_) return false;
  try {
    if (!queue_) queue_ = std::make_unique<SendBacklog>();
  } catch (const std::bad_alloc&) {
    return false;
  }
  overflowed_ = !queue_->push(message, memory);
  return !overflowed_;
}

std::span<const TxBatch::Message> OwnPackets::take() {
  if (!queue_) return {};
  queue_->pop(taken_);
  const auto messages = queue_->messages();
  taken_ = 0;
  for (size_t packets = 0; taken_ < messages.size() && packets < kMostAtOnce; ++taken_) {
    packets += messages[taken_].segments;
  }
  return messages.first(taken_);
}

}  // namespace urxe
