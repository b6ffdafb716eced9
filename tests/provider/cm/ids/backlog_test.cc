// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/backlog.h"

#include <gtest/gtest.h>

namespace urxe::cm {
namespace {

RequestSource::Key source(uint8_t host) {
  const uint8_t address[4] = {192, 0, 2, host};
  return source_key(Gid::from_ipv4(address));
}

TEST(Backlog, OneSourceMayHaveAllPlacesAndNoMore) {
  Backlog backlog;
  backlog.open(8);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(backlog.take(source(1)));
  EXPECT_FALSE(backlog.take(source(1)));
  backlog.give_back(source(1));
  EXPECT_TRUE(backlog.take(source(1)));
  EXPECT_FALSE(backlog.take(source(1)));
}

// Expect: a quarter for each other source, up to twice the places in all.
TEST(Backlog, AFullOneHasRoomForOtherSources) {
  Backlog backlog;
  backlog.open(8);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(backlog.take(source(1)));
  for (uint8_t other = 2; other < 6; ++other) {
    EXPECT_TRUE(backlog.take(source(other)));
    EXPECT_TRUE(backlog.take(source(other)));
    EXPECT_FALSE(backlog.take(source(other)));
  }
  EXPECT_FALSE(backlog.take(source(6)));
  backlog.give_back(source(5));
  EXPECT_TRUE(backlog.take(source(6)));
}

TEST(Backlog, OfOnePlaceHasOneForAnotherSource) {
  Backlog backlog;
  backlog.open(1);
  EXPECT_TRUE(backlog.take(source(1)));
  EXPECT_FALSE(backlog.take(source(1)));
  EXPECT_TRUE(backlog.take(source(2)));
  EXPECT_FALSE(backlog.take(source(3)));
}

TEST(Backlog, WhatWasNeverTakenIsNotGivenBack) {
  Backlog backlog;
  backlog.open(1);
  backlog.give_back(source(1));
  EXPECT_TRUE(backlog.take(source(1)));
  EXPECT_FALSE(backlog.take(source(1)));
}

}  // namespace
}  // namespace urxe::cm
