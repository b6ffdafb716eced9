// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace urxe::analyze {

/// Who has to send the next packet of a flow.
enum class Turn : uint8_t { kNobody, kRequester, kResponder };

/// Nothing was sent although somebody had to.
struct Silence {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  Turn turn = Turn::kNobody;
};

/// The longest silences of a flow. Bounded: the shortest one is forgotten.
class Silences {
 public:
  static constexpr size_t kMost = 16;
  static constexpr int64_t kLeastNs = 1'000'000;  ///< shorter ones do not count

  void add(const Silence& silence);
  /// In the order in which they came.
  [[nodiscard]] const std::vector<Silence>& longest() const { return kept_; }
  [[nodiscard]] uint64_t count() const { return count_; }

 private:
  std::vector<Silence> kept_;
  uint64_t count_ = 0;
};

}  // namespace urxe::analyze
