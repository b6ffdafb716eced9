// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/requests/seen_requests.h"

#include <algorithm>
#include <array>
#include <new>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr size_t kEntries = 65536;         ///< a power of two
constexpr uint32_t kLeastPause = 100;      ///< ms
constexpr uint32_t kLongestPause = 30000;  ///< ms; peers repeat a request sooner

uint64_t hash(const SipKey& secret, const Gid& peer, CommId id, Qpn qpn) {
  std::array<uint8_t, 24> bytes;
  std::ranges::copy(peer.bytes, bytes.begin());
  store_be32(bytes.data() + 16, id.value());
  store_be32(bytes.data() + 20, qpn.value());
  return siphash(secret, bytes);
}

}  // namespace

bool SeenRequests::came_before(const Gid& peer, CommId id, Qpn qpn, Instant now) {
  if (!entries_) entries_.reset(new (std::nothrow) Entry[kEntries]);
  if (!entries_) return true;
  const uint64_t value = hash(secret_, peer, id, qpn);
  Entry& entry = entries_[value % kEntries];
  const auto tag = static_cast<uint32_t>(value >> 32);
  const uint32_t at = static_cast<uint32_t>(now.ns / 1'000'000) | 1U;
  const uint32_t passed = at - entry.at;
  if (entry.at != 0 && entry.tag == tag && passed <= kLongestPause) return passed >= kLeastPause;
  entry = {tag, at};
  return false;
}

}  // namespace urxe
