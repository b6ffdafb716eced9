// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/siphash.h"

#include <bit>

namespace urxe {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;

  void round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32) + v3;
    v2 += v1;
    v3 = std::rotl(v3, 21) ^ v0;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void absorb(uint64_t word) {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

/// Up to eight bytes, the first in the lowest place.
uint64_t word_of(std::span<const uint8_t> bytes) {
  uint64_t word = 0;
  for (size_t i = bytes.size(); i-- > 0;) word = word << 8 | bytes[i];
  return word;
}

}  // namespace

uint64_t siphash(const SipKey& key, std::span<const uint8_t> message) {
  State state{key.k0 ^ 0x736f6d6570736575U, key.k1 ^ 0x646f72616e646f6dU,
              key.k0 ^ 0x6c7967656e657261U, key.k1 ^ 0x7465646279746573U};
  const uint64_t length = message.size();
  for (; message.size() >= 8; message = message.subspan(8)) {
    state.absorb(word_of(message.first(8)));
  }
  state.absorb(length << 56 | word_of(message));
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace urxe
