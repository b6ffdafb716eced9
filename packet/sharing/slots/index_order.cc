// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots/index_order.h"

#include <array>

#include "packet/base/bytes.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {
namespace {

constexpr uint32_t kRounds = 4;

/// A Feistel network over 16 bits. Four rounds with a pseudo-random function make a pseudo-random
/// permutation that also withstands its inversion (Luby and Rackoff, 1988).
uint32_t permute(const SipKey& secret, uint32_t slot, uint32_t value) {
  uint32_t left = value >> 8;
  uint32_t right = value & 0xff;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::array<uint8_t, 8> message{};
    store_be32(message.data(), slot);
    message[4] = static_cast<uint8_t>(round);
    message[5] = static_cast<uint8_t>(right);
    const auto mixed = static_cast<uint32_t>(siphash(secret, message) & 0xff);
    const uint32_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return left << 8 | right;
}

}  // namespace

// Values outside the range are permuted again until one is inside: that keeps it a permutation.
// Half are outside.
uint32_t index_at(const SipKey& secret, uint32_t slot, uint32_t place) {
  static_assert(kQpIndices <= 1U << 16);
  uint32_t value = place % kQpIndices;
  do {
    value = permute(secret, slot, value);
  } while (value >= kQpIndices);
  return value;
}

}  // namespace urxe
