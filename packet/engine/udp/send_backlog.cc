// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/send_backlog.h"

#include <cstring>

namespace urxe {

bool SendBacklog::push(const TxBatch::Message& message, const uint8_t* memory) {
  if (!memory_) {
    memory_ = std::make_unique_for_overwrite<uint8_t[]>(kBytes);
    messages_.reserve(kMessages);
  }
  if (messages_.size() == kMessages || message.size > kBytes - used_) return false;
  std::memcpy(memory_.get() + used_, memory + message.offset, message.size);
  messages_.push_back(message);
  messages_.back().offset = used_;
  used_ += message.size;
  return true;
}

void SendBacklog::pop(size_t count) {
  first_ += count;
  if (!empty()) return;
  messages_.clear();
  first_ = 0;
  used_ = 0;
}

}  // namespace urxe
