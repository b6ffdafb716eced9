// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/requests/answer_budget.h"

#include <algorithm>

#include "transport/cm/requests/request_gate.h"

namespace urxe {
namespace {

constexpr Duration kIntervalOfOne = microseconds(500);
constexpr int64_t kAtOnceOfOne = 512;
constexpr Duration kInterval = microseconds(100);
constexpr int64_t kAtOnce = 2048;

}  // namespace

bool AnswerBudget::take(const Gid& source, Instant now) {
  const auto key = source_key(source);
  Share& share = shares_[siphash(secret_, key) % shares_.size()];
  if (share.next - now > kIntervalOfOne * kAtOnceOfOne) return false;
  if (all_.next - now > kInterval * kAtOnce) return false;
  share.next = std::max(share.next, now) + kIntervalOfOne;
  all_.next = std::max(all_.next, now) + kInterval;
  return true;
}

}  // namespace urxe
