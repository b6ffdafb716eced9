// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/port_probe.h"

#include <gtest/gtest.h>

#include <vector>

#include "packet/wire/qpn_layout.h"

namespace urxe::test {
namespace {

const Probe kSent{0x123456, 0x0102030405060708, 9};

TEST(PortProbe, IsDecodedAsItWasSent) {
  Probe probe;
  ASSERT_TRUE(decode_probe(encode_probe(kSent), probe));
  EXPECT_EQ(probe.index, kSent.index);
  EXPECT_EQ(probe.token, kSent.token);
  EXPECT_EQ(probe.prober, kSent.prober);
}

// Expect: a datagram that is not quite a probe is none. All bytes but those of the token, of the
// index and of the slot are the same in all probes.
TEST(PortProbe, OtherDatagramsAreNone) {
  const auto right = encode_probe(kSent);
  Probe probe;
  EXPECT_FALSE(decode_probe({right.data(), right.size() - 1}, probe));
  std::vector<uint8_t> longer(right.begin(), right.end());
  longer.push_back(0);
  EXPECT_FALSE(decode_probe(longer, probe));
  Probe other = kSent;
  other.token = ~other.token;
  const auto differs = encode_probe(other);
  size_t fixed = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    auto changed = right;
    changed[i] ^= 0x80;
    if (decode_probe(changed, probe)) continue;
    EXPECT_EQ(differs[i], right[i]) << "byte " << i << " of the token";
    ++fixed;
  }
  EXPECT_GE(fixed, 1 + sizeof(uint64_t)) << "the opcode and the magic number";
}

TEST(PortProbe, IsOfASlot) {
  Probe probe;
  EXPECT_TRUE(decode_probe(encode_probe({1, 2, kSlots - 1}), probe));
  EXPECT_FALSE(decode_probe(encode_probe({1, 2, kSlots}), probe));
}

}  // namespace
}  // namespace urxe::test
