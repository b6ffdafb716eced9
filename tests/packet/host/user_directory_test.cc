// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/user_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "tests/packet/host/scratch_place.h"
#include "tests/packet/sharing/child_process.h"

namespace urxe::test {
namespace {

class UserDirectoryTest : public ::testing::Test {
 protected:
  /// The name that the user who runs the test looks for first.
  [[nodiscard]] const std::string& plain() const { return plain_; }
  [[nodiscard]] auto open(IfMissing if_missing = IfMissing::kMake) const {
    return open_user_directory(place_.path(), if_missing);
  }
  /// Runs `action` as another user, in a child that stays until the end. False: there is no other
  /// user.
  bool as_stranger(const std::function<bool()>& action) {
    stranger_.emplace([&](int pipe) {
      const bool done = become_stranger() && action();
      write_record(pipe, done);
      pause();
    });
    return stranger_->read<bool>().value_or(false);
  }
  ScratchPlace place_;
  std::string plain_ = place_.path() + "/urxe-" + std::to_string(geteuid());
  std::optional<ChildProcess> stranger_;
};

TEST_F(UserDirectoryTest, IsPrivateWhateverTheUmaskIs) {
  for (const mode_t mask : {mode_t{0}, mode_t{0777}}) {
    const mode_t before = umask(mask);
    const auto made = open();
    umask(before);
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_EQ(made->path, plain());
    struct stat status {};
    ASSERT_EQ(lstat(made->path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700U);
    rmdir(made->path.c_str());
  }
}

TEST_F(UserDirectoryTest, IsNotMadeUnlessAskedFor) {
  const auto found = open(IfMissing::kFail);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().errno_value, ENOENT);
  EXPECT_EQ(place_.entries(), 0U);
}

TEST_F(UserDirectoryTest, HasAShortNameWhereNobodyElseWrites) {
  ASSERT_EQ(chmod(place_.path().c_str(), 0700), 0);
  const auto made = open();
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->path, place_.path() + "/urxe");
}

TEST_F(UserDirectoryTest, IsNotMadeWhereOthersCouldReplaceIt) {
  ASSERT_EQ(chmod(place_.path().c_str(), 0777), 0);
  const auto made = open();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().errno_value, EACCES);
  EXPECT_EQ(place_.entries(), 0U);
}

// Expect: what has the name stays as it is, and all processes find one other directory.
TEST_F(UserDirectoryTest, ANameThatIsTakenCostsOnlyTheName) {
  const std::vector<std::function<void(const char*)>> takers = {
      [](const char* name) { EXPECT_EQ(mkfifo(name, 0600), 0); },
      [](const char* name) { close(creat(name, 0600)); },
      [](const char* name) { EXPECT_EQ(symlink("/", name), 0); },
      [](const char* name) { EXPECT_TRUE(mkdir(name, 0700) == 0 && chmod(name, 0711) == 0); },
  };
  for (const auto& take : takers) {
    take(plain().c_str());
    const auto made = open();
    ASSERT_TRUE(made) << made.error().what;
    EXPECT_TRUE(made->path.starts_with(plain() + "-")) << made->path;
    const auto found = open(IfMissing::kFail);
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->path, made->path);
    std::filesystem::remove_all(plain());
    const auto later = open();
    ASSERT_TRUE(later) << later.error().what;
    EXPECT_EQ(later->path, made->path) << "the name is free again, but others have met there";
    std::filesystem::remove_all(made->path);
  }
}

TEST_F(UserDirectoryTest, AnotherUserWhoWasFirstIsNotFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const std::string fake = plain() + "-0000000000000000";
  if (!as_stranger(
          [&] { return mkdir(plain().c_str(), 0777) == 0 && mkdir(fake.c_str(), 0700) == 0; })) {
    GTEST_SKIP() << "no other user here";
  }
  const auto one = open();
  const auto other = open();
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->path, other->path);
  EXPECT_NE(one->path, plain());
  EXPECT_NE(one->path, fake);
  struct stat status {};
  ASSERT_EQ(lstat(one->path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, geteuid());
}

TEST_F(UserDirectoryTest, ALockOfAnotherUserDoesNotKeepItFromBeingMade) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  if (!as_stranger([&] {
        const int fd = ::open(place_.path().c_str(), O_RDONLY | O_DIRECTORY);
        return mkdir(plain().c_str(), 0777) == 0 && flock(fd, LOCK_EX) == 0;
      })) {
    GTEST_SKIP() << "no other user here";
  }
  EXPECT_TRUE(open());
}

TEST_F(UserDirectoryTest, ThoseThatStartAtOnceMeet) {
  ASSERT_EQ(mkfifo(plain().c_str(), 0600), 0);
  std::vector<ChildProcess> children;
  for (int i = 0; i < 8; ++i) {
    children.emplace_back([&](int pipe) {
      const auto made = open();
      struct stat status {};
      write_record(pipe, made && fstat(made->fd.get(), &status) == 0 ? status.st_ino : 0);
    });
  }
  for (const ChildProcess& child : children) EXPECT_NE(child.read<ino_t>().value_or(0), 0U);
  EXPECT_EQ(place_.entries(), 2U) << "the FIFO and one directory";
}

TEST_F(UserDirectoryTest, AnotherUserHasAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto own = open();
  ASSERT_TRUE(own);
  if (!as_stranger([&] {
        const auto theirs = open();
        return theirs && theirs->path != own->path && access(own->path.c_str(), R_OK) != 0;
      })) {
    ADD_FAILURE();
  }
}

TEST(UserDirectoryPlaces, DoNotBeginWithTheEnvironment) {
  const std::vector<std::string> places = user_directory_places();
  ASSERT_GE(places.size(), 3U);
  EXPECT_EQ(places[0], "/dev/shm");
  EXPECT_EQ(places[1], "/tmp");
}

}  // namespace
}  // namespace urxe::test
