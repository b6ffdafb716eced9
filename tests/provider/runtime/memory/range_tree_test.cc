// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/range_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace urxe {
namespace {

std::set<const RangeTree::Node*> overlapping(const RangeTree& tree, uintptr_t begin,
                                             uintptr_t end) {
  std::set<const RangeTree::Node*> found;
  tree.visit_overlapping(begin, end, [&](RangeTree::Node& node) { found.insert(&node); });
  return found;
}

TEST(RangeTree, TouchingIsNotOverlapping) {
  RangeTree tree;
  EXPECT_EQ(tree.lowest(), 0U);
  EXPECT_EQ(tree.highest(), 0U);
  RangeTree::Node node;
  node.begin = 100;
  node.end = 200;
  tree.insert(node);
  EXPECT_TRUE(overlapping(tree, 0, 100).empty());
  EXPECT_TRUE(overlapping(tree, 200, 300).empty());
  EXPECT_EQ(overlapping(tree, 199, 200).size(), 1U);
  EXPECT_EQ(overlapping(tree, 0, 101).size(), 1U);
  EXPECT_EQ(overlapping(tree, 0, UINTPTR_MAX).size(), 1U);
  EXPECT_EQ(tree.lowest(), 100U);
  EXPECT_EQ(tree.highest(), 200U);
  tree.remove(node);
  EXPECT_TRUE(overlapping(tree, 0, UINTPTR_MAX).empty());
  EXPECT_EQ(tree.highest(), 0U);
}

// Equal, nested and disjoint ranges come and go. Expect: what a list of them says.
TEST(RangeTree, AgreesWithAList) {
  std::mt19937 random(7);
  const auto draw = [&random](uint32_t limit) { return random() % limit; };
  RangeTree tree;
  std::vector<std::unique_ptr<RangeTree::Node>> nodes;
  for (int step = 0; step < 4000; ++step) {
    if (nodes.empty() || draw(5) < 3) {
      auto node = std::make_unique<RangeTree::Node>();
      node->begin = draw(1000);
      node->end = node->begin + 1 + draw(draw(10) == 0 ? 1000 : 20);
      tree.insert(*node);
      nodes.push_back(std::move(node));
    } else {
      auto& victim = nodes[draw(static_cast<uint32_t>(nodes.size()))];
      tree.remove(*victim);
      std::swap(victim, nodes.back());
      nodes.pop_back();
    }
    const uintptr_t begin = draw(2000);
    const uintptr_t end = begin + 1 + draw(50);
    std::set<const RangeTree::Node*> expected;
    uintptr_t lowest = nodes.empty() ? 0 : UINTPTR_MAX;
    uintptr_t highest = 0;
    for (const auto& node : nodes) {
      if (node->begin < end && node->end > begin) expected.insert(node.get());
      lowest = std::min(lowest, node->begin);
      highest = std::max(highest, node->end);
    }
    ASSERT_EQ(overlapping(tree, begin, end), expected) << step;
    ASSERT_EQ(tree.lowest(), lowest) << step;
    ASSERT_EQ(tree.highest(), highest) << step;
  }
}

}  // namespace
}  // namespace urxe
