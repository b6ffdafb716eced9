// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "packet/base/expected.h"

namespace urxe::cm {

/// Objects by number, from 1. A new one gets the lowest free number, as in the kernel, because
/// librdmacm indexes a table of 65536 by it. Pointers stay valid until the object is removed. Not
/// thread-safe.
template <class T>
class IdTable {
 public:
  static constexpr uint32_t kMost = 65535;

  /// ENOMEM: kMost are in use, or no memory.
  Expected<std::pair<uint32_t, T*>, Errno> add() {
    uint32_t number = next_;
    if (!free_.empty()) {
      number = free_.top();
    } else if (next_ > kMost) {
      return error(ENOMEM);
    }
    auto [entry, added] = things_.emplace(number, std::make_unique<T>());
    if (free_.empty()) {
      ++next_;
    } else {
      free_.pop();
    }
    return std::pair(number, entry->second.get());
  }

  [[nodiscard]] T* find(uint32_t number) const {
    auto entry = things_.find(number);
    return entry != things_.end() ? entry->second.get() : nullptr;
  }

  void remove(uint32_t number) {
    if (things_.erase(number) != 0) free_.push(number);
  }

  [[nodiscard]] size_t size() const { return things_.size(); }

 private:
  std::unordered_map<uint32_t, std::unique_ptr<T>> things_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free_;
  uint32_t next_ = 1;
};

}  // namespace urxe::cm
