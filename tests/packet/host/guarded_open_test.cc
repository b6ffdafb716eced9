// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/guarded_open.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace urxe::test::guarded_open_test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOther = 64999;
constexpr int kMake = O_RDWR | O_CREAT;

class GuardedOpen : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/urxe-guarded-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    place_ = pattern;
    fs::create_directory(place_ + "/folder");
  }
  void TearDown() override { fs::remove_all(place_); }

  /// 0 or the errno.
  [[nodiscard]] int open(const std::string& path, int flags = kMake) const {
    const auto opened = guarded_open(place_ + path, flags, 0600);
    return opened ? 0 : opened.error().errno_value;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_symlink(target, place_ + path);
  }
  /// False: there is no other user here.
  [[nodiscard]] bool give_away(const std::string& path) const {
    return lchown((place_ + path).c_str(), kOther, kOther) == 0;
  }
  [[nodiscard]] bool exists(const std::string& path) const { return fs::exists(place_ + path); }

  std::string place_;
};

TEST_F(GuardedOpen, OpensAndMakesFiles) {
  EXPECT_EQ(open("/new", O_RDWR), ENOENT);
  EXPECT_EQ(open("/new"), 0);
  EXPECT_EQ(open("/new", O_RDWR), 0);
  EXPECT_EQ(open("//folder/..///folder/./new"), 0);
  EXPECT_TRUE(exists("/folder/new"));
  struct stat facts {};
  ASSERT_EQ(stat((place_ + "/new").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
}

TEST_F(GuardedOpen, RefusesWhatOpenRefuses) {
  EXPECT_EQ(open("/missing/new"), ENOENT);
  EXPECT_EQ(open("/folder"), EISDIR);
  EXPECT_EQ(open("/folder/"), EISDIR);
  EXPECT_EQ(open("/new/"), ENOENT);
  EXPECT_EQ(open("/new"), 0);
  EXPECT_EQ(open("/new/file"), ENOTDIR);
  EXPECT_EQ(guarded_open("", kMake, 0600).error().errno_value, ENOENT);
  EXPECT_EQ(guarded_open("/", kMake, 0600).error().errno_value, EISDIR);
  link("/loop", "loop");
  EXPECT_EQ(open("/loop"), ELOOP);
}

TEST_F(GuardedOpen, FollowsLinksOfTheUser) {
  link("/dangling", "made");
  EXPECT_EQ(open("/dangling"), 0);
  EXPECT_TRUE(exists("/made"));
  link("/absolute", place_ + "/folder");
  EXPECT_EQ(open("/absolute/one"), 0);
  link("/folder/up", "..");
  EXPECT_EQ(open("/absolute/up/two"), 0);
  EXPECT_TRUE(exists("/folder/one"));
  EXPECT_TRUE(exists("/two"));
}

TEST_F(GuardedOpen, FollowsLinksOfTheKernel) {
  EXPECT_EQ(open("/file"), 0);
  const FileDescriptor file(::open((place_ + "/file").c_str(), O_RDWR | O_CLOEXEC));
  fs::remove(place_ + "/file");
  const std::string number = std::to_string(file.get());
  EXPECT_TRUE(guarded_open("/proc/self/fd/" + number, O_RDWR)) << "a file without a name";
  EXPECT_TRUE(guarded_open("/dev/fd/" + number, O_RDWR));
  EXPECT_TRUE(guarded_open("/proc/self/root" + place_ + "/new", kMake, 0600));
}

TEST_F(GuardedOpen, FollowsNoLinkOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  link("/dangling", "made");
  if (!give_away("/dangling")) GTEST_SKIP() << "no other user here";
  EXPECT_EQ(open("/dangling"), EACCES);
  EXPECT_FALSE(exists("/made"));
  link("/way", "folder");
  ASSERT_TRUE(give_away("/way"));
  EXPECT_EQ(open("/way/new"), EACCES);
  EXPECT_FALSE(exists("/folder/new"));
  link("/own", "dangling");
  EXPECT_EQ(open("/own"), EACCES) << "a link of the user's to another user's";
}

}  // namespace
}  // namespace urxe::test::guarded_open_test
