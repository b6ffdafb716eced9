// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/send_backlog.h"

#include <algorithm>

namespace urxe {

SendBacklog::SendBacklog()
    : memory_(std::make_unique_for_overwrite<uint8_t[]>(kBytes)),
      messages_(std::make_unique<TxBatch::Message[]>(kMessages)) {}

size_t SendBacklog::find_room(size_t size) const {
  if (empty()) return size <= kBytes ? 0 : kBytes;
  const size_t begin = messages_[first_].offset;
  if (end_ <= begin) return size <= begin - end_ ? end_ : kBytes;  // the bytes go round the end
  if (size <= kBytes - end_) return end_;
  return size <= begin ? 0 : kBytes;
}

bool SendBacklog::push(const TxBatch::Message& message, const uint8_t* memory) {
  if (refuses_ || count_ == kMessages) return false;
  const size_t place = find_room(message.size);
  if (place == kBytes) return false;
  TxBatch::copy(message, memory, memory_.get() + place);
  TxBatch::Message& copy = messages_[(first_ + count_) % kMessages];
  copy = message;
  copy.offset = place;
  copy.elsewhere = 0;
  copy.changes = false;
  end_ = place + message.size;
  ++count_;
  return true;
}

std::span<const TxBatch::Message> SendBacklog::messages() const {
  return {messages_.get() + first_, std::min(count_, kMessages - first_)};
}

void SendBacklog::pop(size_t count) {
  first_ = (first_ + count) % kMessages;
  count_ -= count;
  if (count > 0) stall_.note_left();
}

}  // namespace urxe
