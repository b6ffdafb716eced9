// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/memory_use.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

// The defect: all ports had one mark, and a burst of one took away that of another.
TEST(MemoryUse, EachPortHasItsOwn) {
  {
    const MemoryUse held(3);
    {
      const MemoryUse other(4);
      EXPECT_TRUE(MemoryUse::is_used(4));
    }
    EXPECT_TRUE(MemoryUse::is_used(3));
    EXPECT_FALSE(MemoryUse::is_used(4));
  }
  EXPECT_FALSE(MemoryUse::is_used(3));
}

}  // namespace
}  // namespace urxe::test
