// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "transport/limits.h"
#include "transport/memory/memory_region.h"
#include "transport/memory/sge_copy.h"

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

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

// Expect: an address before the region is outside, however long the access, also if their sum, in
// 64 bits, is inside.
TEST(MemoryTable, ARangeDoesNotWrap) {
  MemoryTable table({1, 2}, {});
  uint8_t memory[64];
  const RKey rkey = table.add({PdId(1), memory, sizeof memory, 0, kAccess}).value()->rkey;
  const auto remote = [&](uint64_t va, uint64_t length) {
    return table.remote(PdId(1), Qpn(2), rkey, va, length, IBV_ACCESS_REMOTE_WRITE);
  };
  EXPECT_TRUE(remote(56, 8));
  EXPECT_FALSE(remote(57, 8));
  EXPECT_FALSE(remote(UINT64_MAX - 3, 8));
  EXPECT_FALSE(remote(UINT64_MAX, 1));
  EXPECT_FALSE(remote(8, UINT64_MAX));
}

// 10.6.3. Expect: a region may end with the last address, and not beyond.
TEST(MemoryTable, ARegionDoesNotWrap) {
  MemoryTable table({1, 2}, {});
  uint8_t memory[64];
  const auto add = [&](uint64_t iova) {
    return table.add({PdId(1), memory, sizeof memory, iova, kAccess});
  };
  EXPECT_TRUE(add(UINT64_MAX - 63));
  EXPECT_EQ(add(UINT64_MAX - 62).error().value, EINVAL);
  EXPECT_EQ(add(UINT64_MAX).error().value, EINVAL);
}

// 10.7.2.2: an element of length zero is not checked.
TEST(MemoryTable, AnElementOfLengthZeroNeedsNoKey) {
  MemoryTable table({1, 2}, {});
  uint8_t memory[64];
  const LKey lkey = table.add({PdId(1), memory, sizeof memory, 0, kAccess}).value()->lkey;
  const Sge nothing{0xdead0000, 0, LKey{0xbad}};
  EXPECT_TRUE(list_is_valid(table, PdId(1), std::array{nothing, Sge{0, 8, lkey}}, true));
  EXPECT_FALSE(list_is_valid(table, PdId(1), std::array{nothing, Sge{0, 8, LKey{0xbad}}}, true));
}

}  // namespace
}  // namespace urxe::test
