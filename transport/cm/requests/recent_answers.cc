// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/requests/recent_answers.h"

#include <algorithm>
#include <array>
#include <new>

namespace urxe {
namespace {

constexpr size_t kRemembered = 4096;  ///< a power of two
constexpr size_t kBehindTransaction = 16;

uint64_t hash_answer(const SipKey& secret, const Gid& peer, const MadBytes& answer) {
  std::array<uint8_t, sizeof peer.bytes + kMadBytes - kBehindTransaction> bytes;
  auto* const end = std::ranges::copy(peer.bytes, bytes.begin()).out;
  std::copy(answer.begin() + kBehindTransaction, answer.end(), end);
  return siphash(secret, bytes) | 1U;
}

}  // namespace

bool RecentAnswers::has(const Gid& peer, const MadBytes& answer, Duration interval, Instant now) {
  if (!entries_) entries_.reset(new (std::nothrow) Entry[kRemembered]);
  if (!entries_) return false;
  const uint64_t value = hash_answer(secret_, peer, answer);
  Entry& entry = entries_[(value >> 1) % kRemembered];
  if (entry.answer == value && now - entry.at < interval) return true;
  entry = {value, now};
  return false;
}

}  // namespace urxe
