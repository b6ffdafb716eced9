// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/tree_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace urxe {
namespace {

namespace fs = std::filesystem;

class TreeStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/urxe-tree-store-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    content_.files = {{"devices/d", "name=d\n"}, {"sys/x/y", "1\n"}};
    content_.links = {{"sys/link", "x/y"}};
    content_.tables = {{"devices/d.counters", 4096}};
    content_.directories = {"dev/infiniband"};
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
  TreeContent content_;
};

TEST_F(TreeStoreTest, WritesEverythingReadOnlyButTheTables) {
  auto tree = publish_tree(directory_, content_);
  ASSERT_TRUE(tree.has_value()) << tree.error();
  EXPECT_EQ(fs::read_symlink(*tree + "/sys/link"), "x/y");
  EXPECT_EQ(fs::file_size(*tree + "/devices/d.counters"), 4096u);
  EXPECT_TRUE(fs::is_directory(*tree + "/dev/infiniband"));
  EXPECT_EQ(static_cast<int>(fs::status(*tree + "/sys/x/y").permissions()), 0444);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(TreeStoreTest, TheSameContentIsTheSameTreeAndKeepsItsCounters) {
  auto tree = publish_tree(directory_, content_);
  std::ofstream(*tree + "/devices/d.counters", std::ios::in | std::ios::binary) << "count";
  EXPECT_EQ(publish_tree(directory_, content_), tree);
  std::string word;
  std::ifstream(*tree + "/devices/d.counters") >> word;
  EXPECT_EQ(word.substr(0, 5), "count");
}

TEST_F(TreeStoreTest, OtherContentIsAnotherTree) {
  auto tree = publish_tree(directory_, content_);
  content_.files["sys/x/y"] = "2\n";
  EXPECT_NE(publish_tree(directory_, content_), tree);
  EXPECT_EQ(entries(), 2u);
}

TEST_F(TreeStoreTest, ADamagedTreeIsReplaced) {
  auto tree = publish_tree(directory_, content_);
  fs::remove(*tree + "/sys/x/y");
  EXPECT_EQ(publish_tree(directory_, content_), tree);
  EXPECT_TRUE(fs::exists(*tree + "/sys/x/y"));
}

TEST_F(TreeStoreTest, ConcurrentPublishersAgree) {
  std::vector<std::string> trees(8);
  std::vector<std::thread> threads;
  threads.reserve(trees.size());
  for (std::string& tree : trees) {
    threads.emplace_back([&] { tree = publish_tree(directory_, content_).value_or("failed"); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& tree : trees) EXPECT_EQ(tree, trees[0]);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(TreeStoreTest, StaleTreesGoFreshOnesStay) {
  auto stale = publish_tree(directory_, content_);
  fs::last_write_time(*stale, fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  content_.files["sys/x/y"] = "2\n";
  auto fresh = publish_tree(directory_, content_);
  remove_stale_trees(directory_);
  EXPECT_FALSE(fs::exists(*stale));
  EXPECT_TRUE(fs::exists(*fresh));
}

TEST(RuntimeDirectory, IsPrivate) {
  auto directory = open_runtime_directory();
  ASSERT_TRUE(directory.has_value()) << directory.error();
  struct stat status {};
  ASSERT_EQ(lstat(directory->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

}  // namespace
}  // namespace urxe
