// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace urxe {

/// Objects by the 24-bit names of their keys (KeySequence). Open addressing with linear probing;
/// names are as good as random, so their low bits choose the place. find() allocates nothing.
/// Objects do not move. Several tables may share them.
template <class T>
class KeyTable {
 public:
  [[nodiscard]] T* find(uint32_t name) const {
    const Slot* const slot = look_up(name);
    return slot != nullptr ? slot->object.get() : nullptr;
  }

  /// What find() returns, to be inserted into another table.
  [[nodiscard]] std::shared_ptr<T> share(uint32_t name) const {
    const Slot* const slot = look_up(name);
    return slot != nullptr ? slot->object : nullptr;
  }

  /// `name` must not be in the table. Throws std::bad_alloc, and has then changed nothing.
  T* insert(uint32_t name, std::shared_ptr<T> object) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    T* raw = object.get();
    place(slots_, mask_, {name, std::move(object)});
    ++count_;
    return raw;
  }

  /// `name` must be in the table. Allocates nothing.
  void erase(uint32_t name) {
    size_t hole = name & mask_;
    while (slots_[hole].name != name || !slots_[hole].object) hole = (hole + 1) & mask_;
    slots_[hole].object.reset();
    --count_;
    // Move entries that a probe would not reach across the hole.
    for (size_t i = (hole + 1) & mask_; slots_[i].object; i = (i + 1) & mask_) {
      const size_t home = slots_[i].name & mask_;
      if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
      slots_[hole] = std::move(slots_[i]);
      hole = i;
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.object) visit(*slot.object);
    }
  }

  [[nodiscard]] size_t size() const { return count_; }

 private:
  struct Slot {
    uint32_t name = 0;
    std::shared_ptr<T> object;
  };

  [[nodiscard]] const Slot* look_up(uint32_t name) const {
    if (count_ == 0) return nullptr;
    for (size_t i = name & mask_; slots_[i].object; i = (i + 1) & mask_) {
      if (slots_[i].name == name) return &slots_[i];
    }
    return nullptr;
  }

  static void place(std::vector<Slot>& slots, size_t mask, Slot slot) {
    size_t i = slot.name & mask;
    while (slots[i].object) i = (i + 1) & mask;
    slots[i] = std::move(slot);
  }

  void grow() {
    constexpr size_t kFirst = 16;
    std::vector<Slot> larger(slots_.empty() ? kFirst : 2 * slots_.size());
    for (Slot& slot : slots_) {
      if (slot.object) place(larger, larger.size() - 1, std::move(slot));
    }
    slots_ = std::move(larger);
    mask_ = slots_.size() - 1;
  }

  std::vector<Slot> slots_;  ///< a power of two, at least twice as many as objects
  size_t mask_ = 0;
  size_t count_ = 0;
};

}  // namespace urxe
