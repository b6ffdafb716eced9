// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "packet/base/time.h"

namespace urxe {

/// A hook that holds its owner's deadline in one heap; a type derives from one for each heap it can
/// be in.
template <class Tag>
struct DeadlineHook {
  static constexpr size_t kNotScheduled = SIZE_MAX;

  Instant deadline{};
  size_t heap_index = kNotScheduled;
  [[nodiscard]] bool scheduled() const { return heap_index != kNotScheduled; }
};

/// The deadlines of elements: a binary heap through hooks in the elements. Each element is in it at
/// most once. Changing or removing a deadline takes O(log n).
///
/// set() moves a deadline either way. schedule() only moves it earlier: a timer that is restarted
/// often, as the ACK timer is with every ACK, then costs nothing. When the old time comes, the
/// element is popped; its owner finds that its timer is not due yet and schedules it again.
template <class T, class Tag>
class DeadlineHeap {
  using Hook = DeadlineHook<Tag>;

 public:
  /// Makes room for `count` elements, so that set() and schedule() do not allocate.
  void reserve(size_t count) {
    if (count > heap_.capacity()) heap_.reserve(2 * count);
  }

  [[nodiscard]] static bool contains(const T& element) {
    return static_cast<const Hook&>(element).scheduled();
  }

  /// The element is due at `deadline`.
  void set(T& element, Instant deadline) {
    Hook& hook = element;
    hook.deadline = deadline;
    if (!hook.scheduled()) add(hook);
    sift_up(hook.heap_index);
    sift_down(hook.heap_index);
  }

  /// The element is due at `deadline`, or at the deadline that it has if that is earlier.
  void schedule(T& element, Instant deadline) {
    Hook& hook = element;
    if (hook.scheduled() && hook.deadline <= deadline) return;
    hook.deadline = deadline;
    if (!hook.scheduled()) add(hook);
    sift_up(hook.heap_index);
  }

  /// Removes the element, if it is in the heap.
  void remove(T& element) {
    Hook& hook = element;
    if (hook.scheduled()) take_out(hook);
  }

  /// The earliest deadline; nullopt: the heap is empty.
  [[nodiscard]] std::optional<Instant> next() const {
    if (heap_.empty()) return std::nullopt;
    return heap_.front()->deadline;
  }

  /// Removes the element with the earliest deadline, if it has come; nullptr: none has.
  T* pop_due(Instant now) {
    if (heap_.empty() || heap_.front()->deadline > now) return nullptr;
    Hook& due = *heap_.front();
    take_out(due);
    return static_cast<T*>(&due);
  }

 private:
  void add(Hook& hook) {
    heap_.push_back(&hook);
    hook.heap_index = heap_.size() - 1;
  }

  void take_out(Hook& hook) {
    const size_t index = hook.heap_index;
    hook.heap_index = Hook::kNotScheduled;
    Hook* last = heap_.back();
    heap_.pop_back();
    if (last == &hook) return;
    place(index, last);
    sift_up(index);
    sift_down(last->heap_index);
  }

  void place(size_t index, Hook* hook) {
    heap_[index] = hook;
    hook->heap_index = index;
  }

  void sift_up(size_t index) {
    Hook* moving = heap_[index];
    while (index > 0) {
      const size_t parent = (index - 1) / 2;
      if (heap_[parent]->deadline <= moving->deadline) break;
      place(index, heap_[parent]);
      index = parent;
    }
    place(index, moving);
  }

  void sift_down(size_t index) {
    Hook* moving = heap_[index];
    for (;;) {
      size_t child = 2 * index + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1]->deadline < heap_[child]->deadline) ++child;
      if (moving->deadline <= heap_[child]->deadline) break;
      place(index, heap_[child]);
      index = child;
    }
    place(index, moving);
  }

  std::vector<Hook*> heap_;
};

}  // namespace urxe
