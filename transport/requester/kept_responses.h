// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "packet/wire/psn.h"

namespace urxe {

/// Which READ responses have come behind a gap. Their data is in place; their PSNs are outstanding
/// until the gap is closed.
class KeptResponses {
 public:
  /// PSNs from the oldest unacknowledged one on. More are in flight only with more READs than most
  /// programs allow.
  static constexpr uint32_t kWindow = 1024;

  /// All requests before this one are known to have been executed: what is missing of them is
  /// responses. nullopt: nothing has come behind a gap.
  std::optional<Psn> answered_to;

  [[nodiscard]] bool has(Psn psn) const { return (word(psn) & bit(psn)) != 0; }
  void add(Psn psn) { words_[index(psn)] |= bit(psn); }
  void remove(Psn psn) { words_[index(psn)] &= ~bit(psn); }

 private:
  static uint32_t index(Psn psn) { return psn.value() % kWindow / 64; }
  static uint64_t bit(Psn psn) { return uint64_t{1} << (psn.value() % 64); }
  [[nodiscard]] uint64_t word(Psn psn) const { return words_[index(psn)]; }

  std::array<uint64_t, kWindow / 64> words_{};
};

}  // namespace urxe
