// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/descriptor_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace urxe::test::descriptor_room_test {
namespace {

/// The limit of descriptors while it lives.
class Limit {
 public:
  explicit Limit(rlim_t most) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{most, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~Limit() { setrlimit(RLIMIT_NOFILE, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  rlimit before_{};
};

TEST(DescriptorRoom, CountsFromTheLowestFreeNumber) {
  const int next = dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  close(next);
  const Limit limit(static_cast<rlim_t>(next) + 10);
  EXPECT_TRUE(has_descriptors(10));
  EXPECT_FALSE(has_descriptors(11));
}

TEST(DescriptorRoom, ThereIsNoneWithoutAFreeNumber) {
  const int next = dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  close(next);
  const Limit limit(static_cast<rlim_t>(next));
  EXPECT_FALSE(has_descriptors(0));
}

TEST(DescriptorRoom, AQuarterIsSpared) {
  {
    const Limit limit(512);
    EXPECT_EQ(spare_descriptors(), 128U);
  }
  const Limit limit(1024);
  EXPECT_EQ(spare_descriptors(), 256U);
}

}  // namespace
}  // namespace urxe::test::descriptor_room_test
