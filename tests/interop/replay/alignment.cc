// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/alignment.h"

#include <algorithm>
#include <cstdint>

#include "packet/wire/aeth_syndrome.h"
#include "tests/interop/replay/operation.h"

namespace urxe::replay {
namespace {

bool may_pair(const Frame& a, const Frame& b) {
  if (a.psn() != b.psn() || a.service() != b.service()) return false;
  if (is_read_response(a.operation()) && is_read_response(b.operation())) return true;
  if (a.operation() != b.operation()) return false;
  return a.operation() != Operation::kAcknowledge ||
         ack_kind(a.headers().aeth.syndrome) == ack_kind(b.headers().aeth.syndrome);
}

/// Lengths of the longest common subsequences of all pairs of tails.
class Lengths {
 public:
  Lengths(const Frames& ours, const Frames& recorded)
      : width_(recorded.size() + 1), table_((ours.size() + 1) * width_) {
    for (size_t i = ours.size(); i-- > 0;) {
      for (size_t j = recorded.size(); j-- > 0;) {
        table_[i * width_ + j] = may_pair(*ours[i], *recorded[j])
                                     ? 1 + at(i + 1, j + 1)
                                     : std::max(at(i + 1, j), at(i, j + 1));
      }
    }
  }
  [[nodiscard]] uint32_t at(size_t i, size_t j) const { return table_[i * width_ + j]; }

 private:
  size_t width_;
  std::vector<uint32_t> table_;
};

}  // namespace

std::vector<Pair> align(const Frames& ours, const Frames& recorded) {
  const Lengths lengths(ours, recorded);
  std::vector<Pair> pairs;
  size_t i = 0;
  size_t j = 0;
  while (i < ours.size() || j < recorded.size()) {
    const bool both = i < ours.size() && j < recorded.size();
    if (both && may_pair(*ours[i], *recorded[j])) {
      pairs.push_back({ours[i++], recorded[j++]});
    } else if (j == recorded.size() || (both && lengths.at(i + 1, j) >= lengths.at(i, j + 1))) {
      pairs.push_back({ours[i++], nullptr});
    } else {
      pairs.push_back({nullptr, recorded[j++]});
    }
  }
  return pairs;
}

}  // namespace urxe::replay
