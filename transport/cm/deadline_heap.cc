// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/deadline_heap.h"

#include <utility>

namespace urxe {

void DeadlineHeap::reserve(size_t count) {
  if (count > heap_.capacity()) heap_.reserve(2 * count);
}

void DeadlineHeap::place(size_t index, Communication* communication) {
  heap_[index] = communication;
  communication->heap_index = index;
}

void DeadlineHeap::sift_up(size_t index) {
  Communication* moving = heap_[index];
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (*heap_[parent]->deadline <= *moving->deadline) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, moving);
}

void DeadlineHeap::sift_down(size_t index) {
  Communication* moving = heap_[index];
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && *heap_[child + 1]->deadline < *heap_[child]->deadline) ++child;
    if (*moving->deadline <= *heap_[child]->deadline) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, moving);
}

void DeadlineHeap::set(Communication& communication, Instant deadline) {
  communication.deadline = deadline;
  if (communication.heap_index == SIZE_MAX) {
    heap_.push_back(&communication);
    communication.heap_index = heap_.size() - 1;
  }
  sift_up(communication.heap_index);
  sift_down(communication.heap_index);
}

void DeadlineHeap::clear(Communication& communication) {
  communication.deadline.reset();
  const size_t index = std::exchange(communication.heap_index, SIZE_MAX);
  if (index == SIZE_MAX) return;
  Communication* last = heap_.back();
  heap_.pop_back();
  if (last == &communication) return;
  place(index, last);
  sift_up(index);
  sift_down(last->heap_index);
}

std::optional<Instant> DeadlineHeap::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front()->deadline;
}

Communication* DeadlineHeap::pop_due(Instant now) {
  if (heap_.empty() || *heap_.front()->deadline > now) return nullptr;
  Communication* due = heap_.front();
  clear(*due);
  return due;
}

}  // namespace urxe
