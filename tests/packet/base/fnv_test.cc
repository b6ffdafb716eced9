// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/fnv.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

// From the reference implementation's test vectors.
TEST(Fnv, KnownValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
}

TEST(Fnv, GoesOnWhereItStopped) {
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace urxe::test
