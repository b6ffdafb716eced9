// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/read_responses.h"

#include <algorithm>

namespace urxe::analyze {

bool ReadResponses::was_late(LongPsn psn, bool again) {
  const bool late = missing_.has(psn) || (again && asked_.has(psn));
  if (late) {
    missing_.remove(psn, psn + 1);
    asked_.remove(psn, psn + 1);
  }
  return late;
}

std::optional<std::pair<LongPsn, LongPsn>> ReadResponses::gap(LongPsn from, LongPsn to) const {
  while (from < to) {
    const LongPsn known_until = std::max(seen_.end_of(from), missing_.end_of(from));
    if (known_until == from) {
      return std::pair{from, std::min(seen_.next(from, to), missing_.next(from, to))};
    }
    from = known_until;
  }
  return std::nullopt;
}

void ReadResponses::miss(LongPsn from, LongPsn to) {
  missing_.add(from, to);
  asked_.remove(from, to);
}

/// A second copy of a response that was requested twice tells nothing.
void ReadResponses::ask_again(LongPsn from, LongPsn to) {
  asked_.remove(from, to);
  for (LongPsn psn = missing_.next(from, to); psn < to; psn = missing_.next(psn, to)) {
    const LongPsn end = std::min(missing_.end_of(psn), to);
    asked_.add(psn, end);
    psn = end;
  }
  missing_.remove(from, to);
}

}  // namespace urxe::analyze
