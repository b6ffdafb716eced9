// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/id_table.h"

#include <gtest/gtest.h>

namespace urxe::cm {
namespace {

TEST(IdTable, NumbersBeginWithOne) {
  IdTable<int> table;
  EXPECT_EQ(table.add()->first, 1U);
  EXPECT_EQ(table.add()->first, 2U);
  EXPECT_EQ(table.find(0), nullptr);
}

TEST(IdTable, TheLowestFreeNumberIsGivenOutNext) {
  IdTable<int> table;
  for (int i = 0; i < 5; ++i) (void)table.add();
  table.remove(4);
  table.remove(2);
  EXPECT_EQ(table.add()->first, 2U);
  EXPECT_EQ(table.add()->first, 4U);
  EXPECT_EQ(table.add()->first, 6U);
}

TEST(IdTable, WhatWasRemovedIsNotFound) {
  IdTable<int> table;
  const uint32_t number = table.add()->first;
  EXPECT_NE(table.find(number), nullptr);
  table.remove(number);
  EXPECT_EQ(table.find(number), nullptr);
  EXPECT_EQ(table.size(), 0U);
}

TEST(IdTable, RemovingTwiceFreesOnce) {
  IdTable<int> table;
  (void)table.add();
  table.remove(1);
  table.remove(1);
  EXPECT_EQ(table.add()->first, 1U);
  EXPECT_EQ(table.add()->first, 2U);
}

TEST(IdTable, APointerStaysValidWhileOthersComeAndGo) {
  IdTable<int> table;
  int* first = table.add()->second;
  *first = 42;
  for (int i = 0; i < 1000; ++i) (void)table.add();
  for (uint32_t i = 2; i < 900; ++i) table.remove(i);
  EXPECT_EQ(table.find(1), first);
  EXPECT_EQ(*first, 42);
}

TEST(IdTable, AFullTableAnswersENOMEM) {
  IdTable<char> table;
  for (uint32_t i = 0; i < IdTable<char>::kMost; ++i) ASSERT_TRUE(table.add());
  EXPECT_EQ(table.add().error().value, ENOMEM);
  table.remove(7);
  EXPECT_EQ(table.add()->first, 7U);
}

}  // namespace
}  // namespace urxe::cm
