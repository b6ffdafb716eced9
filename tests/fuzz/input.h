// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace urxe::fuzz {

/// A fuzzer's input, read from the front; zeros when it has ended.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool ended() const { return at_ == end_; }
  uint8_t byte() { return ended() ? uint8_t{0} : *at_++; }
  uint16_t word() {
    const uint8_t high = byte();
    return static_cast<uint16_t>(high << 8 | byte());
  }
  std::vector<uint8_t> bytes(size_t count) {
    count = std::min(count, static_cast<size_t>(end_ - at_));
    std::vector<uint8_t> taken(at_, at_ + count);
    at_ += count;
    return taken;
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace urxe::fuzz
