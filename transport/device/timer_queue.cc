// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/timer_queue.h"

#include <utility>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

void TimerQueue::place(size_t index, QueuePair* qp) {
  heap_[index] = qp;
  qp->timer_index = index;
}

void TimerQueue::sift_up(size_t index) {
  QueuePair* qp = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (heap_[parent]->timer_key <= qp->timer_key) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, qp);
}

void TimerQueue::sift_down(size_t index) {
  QueuePair* qp = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->timer_key < heap_[child]->timer_key) ++child;
    if (qp->timer_key <= heap_[child]->timer_key) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, qp);
}

void TimerQueue::schedule(QueuePair& qp, Instant deadline) {
  if (qp.timer_index == SIZE_MAX) {
    qp.timer_key = deadline;
    heap_.push_back(&qp);
    sift_up(heap_.size() - 1);
  } else if (deadline < qp.timer_key) {
    qp.timer_key = deadline;
    sift_up(qp.timer_index);
  }
}

void TimerQueue::remove(QueuePair& qp) {
  const size_t index = std::exchange(qp.timer_index, SIZE_MAX);
  if (index == SIZE_MAX) return;
  QueuePair* last = heap_.back();
  heap_.pop_back();
  if (last == &qp) return;
  place(index, last);
  sift_up(index);
  sift_down(last->timer_index);
}

std::optional<Instant> TimerQueue::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->timer_key;
}

QueuePair* TimerQueue::pop_due(Instant now) {
  if (heap_.empty() || heap_.front()->timer_key > now) return nullptr;
  QueuePair* qp = heap_.front();
  remove(*qp);
  return qp;
}

}  // namespace urxe
