// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <cerrno>

#include "transport/limits.h"
#include "transport/memory/memory_region.h"

namespace urxe::test {
namespace {

// ibv_query_device(3): max_mr and max_mw. Expect: each is to be had whatever there is of the other,
// one more is refused, and one freed makes room for one.
TEST(MemoryTable, RegionsAndWindowsHaveALimitEach) {
  MemoryTable table({1, 2}, {});
  uint8_t memory[8];
  const auto add = [&] { return table.add({PdId(1), memory, sizeof memory}); };
  const auto add_window = [&] { return table.add_window(PdId(1), IBV_MW_TYPE_2); };
  for (int i = 0; i < kMaxRegions; ++i) ASSERT_TRUE(add());
  EXPECT_EQ(add().error().value, ENOMEM);
  for (int i = 1; i < kMaxWindows; ++i) ASSERT_TRUE(add_window());
  MemoryWindow* last = add_window().value();
  EXPECT_EQ(add_window().error().value, ENOMEM);
  EXPECT_EQ(add().error().value, ENOMEM);
  table.remove_window(last);
  EXPECT_TRUE(add_window());
}

}  // namespace
}  // namespace urxe::test
