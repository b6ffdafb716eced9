// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/local_addresses.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test::local_addresses_test {
namespace {

const Gid kOne = ipv4(192, 0, 2, 1);
const Gid kTwo = ipv4(192, 0, 2, 2);
const Gid kNone{};
using Gids = std::vector<Gid>;

TEST(LocalAddresses, ThoseThatAreGoneAreLostOnce) {
  LocalAddresses addresses;
  addresses.open(kOne, false);
  addresses.open(kTwo, false);
  EXPECT_EQ(addresses.take_lost(Gids{kOne, kTwo}), kNone);
  EXPECT_EQ(addresses.take_lost(Gids{kNone, kTwo}), kOne);
  EXPECT_EQ(addresses.take_lost(Gids{kNone, kTwo}), kNone);
  EXPECT_EQ(addresses.returned(Gids{kOne, kTwo}), Gids{}) << "nobody has asked for it by name";
}

TEST(LocalAddresses, OneThatSomethingSendsFromStays) {
  LocalAddresses addresses;
  addresses.open(kOne, true);
  addresses.claim(kOne);
  addresses.claim(kOne);
  addresses.release(kOne);
  EXPECT_EQ(addresses.take_lost({}), kNone);
  addresses.release(kOne);
  EXPECT_EQ(addresses.take_lost({}), kOne);
  addresses.release(kOne);
  addresses.open(kOne, true);
  addresses.claim(kOne);
  EXPECT_EQ(addresses.take_lost({}), kNone) << "a port that was given back twice";
}

TEST(LocalAddresses, OneThatWasAskedForIsWaitedFor) {
  LocalAddresses addresses;
  addresses.open(kOne, true);
  addresses.open(kOne, false);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(addresses.take_lost(Gids{kTwo}), kOne);
    EXPECT_EQ(addresses.returned(Gids{kTwo}), Gids{});
    EXPECT_EQ(addresses.returned(Gids{kTwo, kOne}), Gids{kOne});
    addresses.open(kOne, false);
    EXPECT_EQ(addresses.returned(Gids{kTwo, kOne}), Gids{}) << "it is open";
  }
}

TEST(LocalAddresses, RemembersTheLastOnesOnly) {
  LocalAddresses addresses;
  Gids all;
  for (size_t i = 0; i <= LocalAddresses::kMostClosed; ++i) {
    all.push_back(ipv4(10, 1, static_cast<uint8_t>(i / 256), static_cast<uint8_t>(i % 256)));
    addresses.open(all.back(), true);
    EXPECT_EQ(addresses.take_lost({}), all.back());
  }
  const Gids returned = addresses.returned(all);
  EXPECT_EQ(returned.size(), LocalAddresses::kMostClosed);
  EXPECT_EQ(returned.front(), all[1]);
}

}  // namespace
}  // namespace urxe::test::local_addresses_test
