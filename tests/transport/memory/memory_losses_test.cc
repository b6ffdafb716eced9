// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/memory_losses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace urxe::test {
namespace {

constexpr Loss kUncertain = Loss::kUncertain;
constexpr Loss kGone = Loss::kGone;

TEST(MemoryLosses, TheWorstOfARangeCounts) {
  MemoryLosses losses;
  EXPECT_FALSE(losses.any());
  losses.lose(10, 20, kUncertain);
  losses.lose(20, 30, kGone);
  EXPECT_TRUE(losses.any());
  EXPECT_EQ(losses.worst(0, 10), Loss::kNone);
  EXPECT_EQ(losses.worst(0, 11), kUncertain);
  EXPECT_EQ(losses.worst(19, 21), kGone);
  EXPECT_EQ(losses.worst(30, 40), Loss::kNone);
  EXPECT_EQ(losses.worst(15, 15), kUncertain);  // inside
  EXPECT_EQ(losses.worst(5, 5), Loss::kNone);
}

TEST(MemoryLosses, WhatIsUncertainIsRegained) {
  MemoryLosses losses;
  losses.lose(10, 40, kUncertain);
  losses.regain(20, 30, kUncertain);
  EXPECT_EQ(losses.worst(20, 30), Loss::kNone);
  EXPECT_EQ(losses.worst(10, 20), kUncertain);
  EXPECT_EQ(losses.worst(30, 40), kUncertain);
  losses.regain(0, 100, kUncertain);
  EXPECT_FALSE(losses.any());
}

TEST(MemoryLosses, WhatIsGoneStaysGone) {
  MemoryLosses losses;
  losses.lose(10, 20, kGone);
  losses.lose(0, 30, kUncertain);
  losses.regain(0, 30, kUncertain);
  EXPECT_EQ(losses.worst(10, 20), kGone);
  EXPECT_EQ(losses.worst(20, 30), Loss::kNone);
  losses.forget();
  EXPECT_FALSE(losses.any());
}

/// What each of 200 addresses has lost, without a bound.
struct Model {
  std::array<bool, 200> uncertain{};
  std::array<bool, 200> gone{};
};

// Any losses and regains, more than there is room for. Expect: never less lost than was.
TEST(MemoryLosses, NeverForgetsForLackOfRoom) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::minstd_rand random(seed);
    MemoryLosses losses;
    Model model;
    for (int step = 0; step < 60; ++step) {
      const size_t begin = random() % 200;
      const size_t end = std::min<size_t>(begin + 1 + random() % 20, 200);
      const Loss loss = random() % 2 == 0 ? kGone : kUncertain;
      const bool regains = random() % 4 == 0;
      if (regains) {
        losses.regain(begin, end, kUncertain);
      } else {
        losses.lose(begin, end, loss);
      }
      auto& lost = loss == kGone && !regains ? model.gone : model.uncertain;
      std::fill(lost.begin() + begin, lost.begin() + end, !regains);
      for (size_t at = 0; at < 200; ++at) {
        const Loss least = model.gone[at] ? kGone : model.uncertain[at] ? kUncertain : Loss::kNone;
        ASSERT_GE(losses.worst(at, at + 1), least) << "seed " << seed << " step " << step;
      }
    }
  }
}

// As long as there is room. Expect: no more lost than was.
TEST(MemoryLosses, LosesNoMoreThanItMust) {
  MemoryLosses losses;
  for (uintptr_t i = 0; i < MemoryLosses::kMost; ++i) losses.lose(10 * i, 10 * i + 5, kGone);
  for (uintptr_t at = 0; at < 10 * MemoryLosses::kMost; ++at) {
    EXPECT_EQ(losses.worst(at, at + 1), at % 10 < 5 ? kGone : Loss::kNone) << at;
  }
}

// One more than there is room for. Expect: of what is uncertain the nearest are joined, and nothing
// more is gone.
TEST(MemoryLosses, JoinsWhatIsUncertainFirst) {
  MemoryLosses losses;
  losses.lose(0, 5, kGone);
  losses.lose(6, 9, kGone);
  for (uintptr_t i = 2; i <= MemoryLosses::kMost; ++i) losses.lose(10 * i, 10 * i + 5, kUncertain);
  EXPECT_EQ(losses.worst(5, 6), Loss::kNone);
  EXPECT_EQ(losses.worst(20, 5 + 10 * MemoryLosses::kMost), kUncertain);
}

}  // namespace
}  // namespace urxe::test
