// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <utility>

#include "tools/analyze/psn_ranges.h"

namespace urxe::analyze {

/// The responses to the READs of a flow that have no complete answer yet: those that were seen, and
/// those that count as missing because later ones came before. Bounded, as PsnRanges is.
class ReadResponses {
 public:
  /// A response came. Returns whether it counted as missing, and does not any more because it was
  /// only late: it came before it was asked for again, or besides the copy that was asked for.
  /// `again`: it had been seen.
  bool was_late(LongPsn psn, bool again);
  void add(LongPsn psn) { seen_.add(psn, psn + 1); }
  [[nodiscard]] bool has(LongPsn psn) const { return seen_.has(psn); }
  /// Behind all that were seen in a row from `psn` on.
  [[nodiscard]] LongPsn end_of(LongPsn psn) const { return seen_.end_of(psn); }

  /// The first ones in a row, in [from, to), that were neither seen nor count as missing.
  [[nodiscard]] std::optional<std::pair<LongPsn, LongPsn>> gap(LongPsn from, LongPsn to) const;
  /// From now on they count as missing.
  void miss(LongPsn from, LongPsn to);
  /// Whether the response counts as missing, and was not asked for again.
  [[nodiscard]] bool lacks(LongPsn psn) const { return missing_.has(psn); }
  /// A request asks for [from, to) again.
  void ask_again(LongPsn from, LongPsn to);
  /// A READ is answered.
  void forget(LongPsn from, LongPsn to) { seen_.remove(from, to); }

 private:
  PsnRanges seen_;
  PsnRanges missing_;  ///< and not asked for again
  PsnRanges asked_;    ///< missing, and asked for again once
};

}  // namespace urxe::analyze
