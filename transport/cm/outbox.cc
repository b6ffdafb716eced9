// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/outbox.h"

#include <new>

namespace urxe {

bool CmOutbox::push(const Flow& flow, const SentMessage& message) {
  if (waiting_.size() >= capacity_) {
    ++counters_->drops[static_cast<size_t>(MadDropReason::kNoRoom)];
    return false;
  }
  try {
    waiting_.push_back({flow, message.mad});
  } catch (const std::bad_alloc&) {
    ++counters_->drops[static_cast<size_t>(MadDropReason::kNoRoom)];
    return false;
  }
  return true;
}

void CmOutbox::send(const Flow& flow, const SentMessage& message) {
  if (push(flow, message)) ++counters_->sent[index_of(*message.attribute)];
}

void CmOutbox::send_again(const Flow& flow, const SentMessage& message) {
  if (push(flow, message)) ++counters_->retries[index_of(*message.attribute)];
}

const OutgoingMad* CmOutbox::take() {
  if (waiting_.empty()) return nullptr;
  taken_ = waiting_.front();
  waiting_.pop_front();
  return &taken_;
}

}  // namespace urxe
