// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queues/shared_receive_queue.h"

#include <algorithm>
#include <cerrno>

#include "transport/limits.h"

namespace urxe {
namespace {

constexpr uint32_t kIndexMask = (1U << 15) - 1;
constexpr uint32_t kNumberMask = (1U << 24) - 1;
static_assert(kMaxSrqs < kIndexMask);

}  // namespace

SharedReceiveQueue::SharedReceiveQueue(const SrqInit& init, Srqn srqn)
    : number(srqn),
      pd(init.pd),
      domain(init.domain),
      cq(init.cq),
      user(init.user),
      queue_(std::make_unique<ReceiveQueue>(init.max_wr, std::max(init.max_sge, 1U), 0)) {}

void SharedReceiveQueue::resize(uint32_t max_wr) {
  auto larger = std::make_unique<ReceiveQueue>(max_wr, queue_->max_sge(), 0);
  for (uint32_t from = queue_->oldest(); from != queue_->posted(); ++from) {
    const uint32_t to = larger->next_position();
    larger->at(to) = queue_->at(from);
    std::ranges::copy(queue_->sges(from), larger->sge_space(to));
    larger->publish();
  }
  queue_ = std::move(larger);
}

Expected<SharedReceiveQueue*, Errno> SrqTable::add(const SrqInit& init) {
  if (count_ >= static_cast<size_t>(kMaxSrqs)) return error(ENOMEM);
  if (places_.empty()) places_.resize(kIndexMask + 1);
  // There are more places than queues, so this ends.
  while (next_number_ == 0 || places_[next_number_ & kIndexMask]) {
    next_number_ = (next_number_ + 1) & kNumberMask;
  }
  const Srqn number(next_number_);
  auto& place = places_[number.value() & kIndexMask];
  place = std::make_unique<SharedReceiveQueue>(init, number);
  next_number_ = (next_number_ + 1) & kNumberMask;
  ++count_;
  return place.get();
}

void SrqTable::remove(SharedReceiveQueue* srq) {
  places_[srq->number.value() & kIndexMask].reset();
  --count_;
}

SharedReceiveQueue* SrqTable::find(Srqn number) const {
  if (places_.empty()) return nullptr;
  SharedReceiveQueue* srq = places_[number.value() & kIndexMask].get();
  return srq != nullptr && srq->number == number ? srq : nullptr;
}

}  // namespace urxe
