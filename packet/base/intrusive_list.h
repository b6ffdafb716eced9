// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace urxe {

/// A hook that puts its owner on one list. A type derives from one hook for each list that it can
/// be on.
template <class Tag>
struct ListHook {
  ListHook* previous = nullptr;
  ListHook* next = nullptr;
  [[nodiscard]] bool linked() const { return next != nullptr; }
  /// Removes its owner from the list that it is on, if any.
  void unlink() {
    if (!linked()) return;
    previous->next = next;
    next->previous = previous;
    next = previous = nullptr;
  }
};

/// A doubly linked list through hooks in the elements: no allocation, O(1) removal.
template <class T, class Tag>
class IntrusiveList {
  using Hook = ListHook<Tag>;

 public:
  IntrusiveList() { head_.next = head_.previous = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  [[nodiscard]] bool empty() const { return head_.next == &head_; }
  [[nodiscard]] T* front() { return empty() ? nullptr : static_cast<T*>(head_.next); }
  /// Calls `visit(element)` for each. It may remove that element from the list, but no other.
  template <class Visit>
  void for_each(Visit visit) {
    for (Hook* hook = head_.next; hook != &head_;) {
      Hook* next = hook->next;
      visit(*static_cast<T*>(hook));
      hook = next;
    }
  }
  /// Appends the element, unless it is on the list already.
  void push_back(T& element) {
    Hook& hook = element;
    if (hook.linked()) return;
    hook.previous = head_.previous;
    hook.next = &head_;
    head_.previous->next = &hook;
    head_.previous = &hook;
  }
  /// Removes the element, if it is on the list.
  void remove(T& element) {
    Hook& hook = element;
    hook.unlink();
  }
  void move_to_back(T& element) {
    remove(element);
    push_back(element);
  }
  void move_to_front(T& element) {
    remove(element);
    Hook& hook = element;
    hook.previous = &head_;
    hook.next = head_.next;
    head_.next->previous = &hook;
    head_.next = &hook;
  }

 private:
  Hook head_;
};

}  // namespace urxe
