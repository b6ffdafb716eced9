// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"

namespace urxe {

/// The deadline of every element that has one: a binary heap, each element in it at most once. As
/// TimerQueue, but a deadline may move either way. An element has
/// `std::optional<Instant> deadline` and `size_t heap_index = SIZE_MAX`, both the heap's.
template <class Element>
class DeadlineHeap {
 public:
  /// Room for `count` elements, so that set() does not allocate.
  void reserve(size_t count) {
    if (count > heap_.capacity()) heap_.reserve(2 * count);
  }

  void set(Element& element, Instant deadline) {
    element.deadline = deadline;
    if (element.heap_index == SIZE_MAX) {
      heap_.push_back(&element);
      element.heap_index = heap_.size() - 1;
    }
    sift_up(element.heap_index);
    sift_down(element.heap_index);
  }

  void clear(Element& element) {
    element.deadline.reset();
    const size_t index = element.heap_index;
    element.heap_index = SIZE_MAX;
    if (index == SIZE_MAX) return;
    Element* last = heap_.back();
    heap_.pop_back();
    if (last == &element) return;
    place(index, last);
    sift_up(index);
    sift_down(last->heap_index);
  }

  [[nodiscard]] std::optional<Instant> next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front()->deadline;
  }

  /// Takes an element whose time has come off the heap; nullptr: none.
  Element* pop_due(Instant now) {
    if (heap_.empty() || *heap_.front()->deadline > now) return nullptr;
    Element* due = heap_.front();
    clear(*due);
    return due;
  }

 private:
  void place(size_t index, Element* element) {
    heap_[index] = element;
    element->heap_index = index;
  }

  void sift_up(size_t index) {
    Element* moving = heap_[index];
    while (index > 0) {
      const size_t parent = (index - 1) / 2;
      if (*heap_[parent]->deadline <= *moving->deadline) break;
      place(index, heap_[parent]);
      index = parent;
    }
    place(index, moving);
  }

  void sift_down(size_t index) {
    Element* moving = heap_[index];
    for (;;) {
      size_t child = 2 * index + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && *heap_[child + 1]->deadline < *heap_[child]->deadline) {
        ++child;
      }
      if (*moving->deadline <= *heap_[child]->deadline) break;
      place(index, heap_[child]);
      index = child;
    }
    place(index, moving);
  }

  std::vector<Element*> heap_;
};

}  // namespace urxe
