// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/node.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace urxe::lab {
namespace {

class NodesInTheEnvironment : public testing::Test {
 protected:
  void SetUp() override { forget(); }
  void TearDown() override { forget(); }

  static void set(const char* names, const char* holders) {
    setenv(kNodesVariable, names, 1);
    setenv(kHoldersVariable, holders, 1);
  }

 private:
  static void forget() {
    unsetenv(kNodesVariable);
    unsetenv(kHoldersVariable);
  }
};

TEST_F(NodesInTheEnvironment, EachHasItsHolder) {
  publish_nodes({{"alice", 3}, {"bob", 1234567}});
  EXPECT_STREQ(std::getenv(kNodesVariable), "alice,bob");
  const auto nodes = read_nodes();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "alice");
  EXPECT_EQ(nodes[0].holder, 3);
  EXPECT_EQ(nodes[1].name, "bob");
  EXPECT_EQ(nodes[1].holder, 1234567);
}

TEST_F(NodesInTheEnvironment, WithoutThemThereIsNoLab) {
  EXPECT_TRUE(read_nodes().empty());
}

TEST_F(NodesInTheEnvironment, NamesWithoutAHolderEachAreNoLab) {
  setenv(kNodesVariable, "alice,bob", 1);
  EXPECT_TRUE(read_nodes().empty());
  for (const char* const holders :
       {"", "3", "3,4,5", "3,0", "3,-4", "3,x", "3,4x", "3,99999999999"}) {
    set("alice,bob", holders);
    EXPECT_TRUE(read_nodes().empty()) << holders;
  }
}

}  // namespace
}  // namespace urxe::lab
