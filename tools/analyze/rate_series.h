// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace urxe::analyze {

/// Bytes over time in at most 256 slots. The slots get twice as long whenever they do not suffice.
class RateSeries {
 public:
  static constexpr size_t kSlots = 256;

  /// Times before the first one count as the first one.
  void add(int64_t time_ns, uint64_t bytes);
  [[nodiscard]] int64_t start_ns() const { return start_ns_; }
  [[nodiscard]] int64_t slot_ns() const { return slot_ns_; }
  [[nodiscard]] size_t used() const { return used_; }
  [[nodiscard]] uint64_t bytes_in(size_t slot) const { return slots_.at(slot); }

 private:
  std::array<uint64_t, kSlots> slots_{};
  int64_t start_ns_ = 0;
  int64_t slot_ns_ = 1'000;
  size_t used_ = 0;
};

}  // namespace urxe::analyze
