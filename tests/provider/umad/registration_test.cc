// SPDX-License-Identifier: BSD-2-Clause
// Which agents Linux registers.
#include "provider/umad/registration.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace urxe::umad {
namespace {

int checked(const Registration& registration) {
  const auto result = check(registration);
  return result ? 0 : result.error().value;
}

TEST(UmadRegistration, TakesWhatProgramsAskFor) {
  EXPECT_EQ(checked({0, {0x01, 1, 0x001405}, {}, 0}), 0) << "SMPs";
  EXPECT_EQ(checked({0, {0x81, 1, 0x001405}, {}, 0}), 0);
  EXPECT_EQ(checked({1, {0x03, 2, 0x001405}, {}, 1}), 0) << "subnet administration, with RMPP";
  EXPECT_EQ(checked({1, {0x04, 0x82, 0}, {}, 0}), 0);
  EXPECT_EQ(checked({1, {0x32, 1, 0x001405}, {~uint64_t{0}, ~uint64_t{0}}, 0}), 0) << "ibping -S";
  EXPECT_EQ(checked({1, {0, 0, 0}, {}, 0}), 0) << "one that only sends";
  EXPECT_EQ(checked({0, {0, 0, 0}, {}, 0}), 0) << "one that only sends SMPs";
}

TEST(UmadRegistration, RefusesWhatLinuxRefuses) {
  EXPECT_EQ(checked({2, {0x04, 1, 0}, {}, 0}), EINVAL) << "queue pair";
  EXPECT_EQ(checked({0, {0x04, 1, 0}, {}, 0}), EINVAL) << "not on QP0";
  EXPECT_EQ(checked({1, {0x01, 1, 0}, {}, 0}), EINVAL) << "only on QP0";
  EXPECT_EQ(checked({1, {0x50, 1, 0}, {}, 0}), EINVAL) << "class";
  EXPECT_EQ(checked({1, {0x04, 0x83, 0}, {}, 0}), EINVAL) << "version";
  EXPECT_EQ(checked({1, {0x32, 1, 0}, {}, 0}), EINVAL) << "no OUI";
  EXPECT_EQ(checked({1, {0x04, 1, 0}, {}, 1}), EINVAL) << "no RMPP in that class";
  EXPECT_EQ(checked({1, {0x03, 2, 0}, {}, 2}), EINVAL) << "version of RMPP";
}

}  // namespace
}  // namespace urxe::umad
