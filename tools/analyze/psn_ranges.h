// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <map>

#include "tools/analyze/psn_line.h"

namespace urxe::analyze {

/// A set of PSNs, kept as ranges. Bounded: beyond kMost ranges the lowest one is forgotten.
class PsnRanges {
 public:
  static constexpr size_t kMost = 1024;

  /// [from, to)
  void add(LongPsn from, LongPsn to);
  void remove(LongPsn from, LongPsn to);
  [[nodiscard]] bool has(LongPsn psn) const { return end_of(psn) != psn; }
  /// The first PSN from `psn` on that is not in the set.
  [[nodiscard]] LongPsn end_of(LongPsn psn) const;
  /// The first PSN from `psn` on that is in the set; `limit` if that is not below it.
  [[nodiscard]] LongPsn next(LongPsn psn, LongPsn limit) const;
  [[nodiscard]] size_t size() const { return ranges_.size(); }

 private:
  std::map<LongPsn, LongPsn> ranges_;  ///< from the first PSN to the end; they never meet
};

}  // namespace urxe::analyze
