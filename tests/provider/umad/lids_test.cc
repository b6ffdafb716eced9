// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/lids.h"

#include <gtest/gtest.h>

namespace urxe::umad {
namespace {

Gid host(uint32_t number) {
  const uint8_t address[4] = {10, static_cast<uint8_t>(number >> 16),
                              static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)};
  return Gid::from_ipv4(address);
}

LidPeer peer(uint32_t number, uint32_t own = 900) {
  return {host(number), host(own)};
}
LidPeer wanted_peer(uint32_t number) {
  return {host(number), {}};
}

TEST(Lids, StandForTheirGid) {
  Lids lids;
  const uint16_t first = lids.of_wanted(host(1));
  const uint16_t second = lids.of_wanted(host(2));
  EXPECT_NE(first, second);
  EXPECT_EQ(lids.of_wanted(host(1)), first);
  EXPECT_EQ(lids.peer_of(first), wanted_peer(1));
  EXPECT_EQ(lids.peer_of(second), wanted_peer(2));
}

// libibmad takes 0 and those from 0xc000 on for no host's.
TEST(Lids, AreUnicastOnes) {
  Lids lids;
  EXPECT_FALSE(lids.peer_of(0));
  EXPECT_GE(lids.of_wanted(host(1)), 1);
  EXPECT_LT(lids.of_sender(peer(2)), 0xc000);
}

TEST(Lids, StayInTheirRange) {
  constexpr uint16_t kFirst = 0x100;
  constexpr uint16_t kLast = kFirst + LidRange::kCapacity + 5;
  LidRange range(kFirst, kLast);
  for (uint32_t i = 0; i < 3 * LidRange::kCapacity; ++i) {
    const uint16_t lid = range.lid_of(peer(i));
    ASSERT_GE(lid, kFirst);
    ASSERT_LE(lid, kLast);
    ASSERT_EQ(range.peer_of(lid), peer(i));
  }
}

TEST(Lids, WhoAnswersHasTheOneThatWasAskedFor) {
  Lids lids;
  const uint16_t wanted = lids.of_wanted(host(1));
  EXPECT_EQ(lids.of_asked(peer(1)), wanted);
  EXPECT_NE(lids.of_sender(peer(1)), wanted) << "the answer is from the address that it has asked";
  const uint16_t sender = lids.of_sender(peer(2));
  EXPECT_EQ(lids.peer_of(sender), peer(2));
}

TEST(Lids, TellWhichAddressASenderHasAsked) {
  Lids lids;
  const uint16_t one = lids.of_sender(peer(1, 901));
  const uint16_t other = lids.of_sender(peer(1, 902));
  EXPECT_NE(one, other);
  EXPECT_EQ(lids.peer_of(one), peer(1, 901));
  EXPECT_EQ(lids.peer_of(other), peer(1, 902));
}

TEST(Lids, StrangersDoNotMakePeersForgotten) {
  Lids lids;
  const uint16_t wanted = lids.of_wanted(host(1));
  for (uint32_t i = 2; i < 1200; ++i) lids.of_sender(peer(i));
  EXPECT_EQ(lids.peer_of(wanted), wanted_peer(1));
}

// A forgotten LID is nobody's for long, so it cannot mean another peer by chance.
TEST(Lids, ForgottenOneIsNobodys) {
  Lids lids;
  const uint16_t first = lids.of_sender(peer(1));
  for (uint32_t i = 2; i < LidRange::kCapacity + 2; ++i) lids.of_sender(peer(i));
  EXPECT_FALSE(lids.peer_of(first));
  EXPECT_NE(lids.of_sender(peer(1)), first);
}

}  // namespace
}  // namespace urxe::umad
