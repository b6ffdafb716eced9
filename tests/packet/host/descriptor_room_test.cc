// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/descriptor_room.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/descriptor_limit.h"

namespace urxe::test::descriptor_room_test {
namespace {

TEST(DescriptorRoom, CountsFromTheLowestFreeNumber) {
  const int next = dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  close(next);
  const DescriptorLimit limit(static_cast<rlim_t>(next) + 10);
  EXPECT_TRUE(has_descriptors(10));
  EXPECT_FALSE(has_descriptors(11));
}

TEST(DescriptorRoom, ThereIsNoneWithoutAFreeNumber) {
  const int next = dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  close(next);
  const DescriptorLimit limit(static_cast<rlim_t>(next));
  EXPECT_FALSE(has_descriptors(0));
}

TEST(DescriptorRoom, AQuarterIsSpared) {
  {
    const DescriptorLimit limit(512);
    EXPECT_EQ(spare_descriptors(), 128U);
  }
  const DescriptorLimit limit(1024);
  EXPECT_EQ(spare_descriptors(), 256U);
}

}  // namespace
}  // namespace urxe::test::descriptor_room_test
