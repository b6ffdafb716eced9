// SPDX-License-Identifier: BSD-2-Clause
// What processes that were killed have left in the user's directory goes when the next one starts.
#include "provider/devices/leftovers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "provider/devices/tree_store.h"

namespace urxe::test::leftovers_test {
namespace {

namespace fs = std::filesystem;

class Leftovers : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = "/tmp/urxe-leftovers-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    place_ = path;
    directory_ = place_ + "/urxe";
    ASSERT_TRUE(fs::create_directory(directory_));
    ASSERT_EQ(chmod(directory_.c_str(), 0700), 0);
  }
  void TearDown() override { fs::remove_all(place_); }

  [[nodiscard]] std::string in(const std::string& name) const { return directory_ + "/" + name; }
  [[nodiscard]] bool exists(const std::string& name) const {
    return fs::symlink_status(in(name)).type() != fs::file_type::not_found;
  }
  void make_file(const std::string& name) const { std::ofstream(in(name)) << "4711"; }
  void make_old(const std::string& name) const {
    const timespec old[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, in(name).c_str(), old, AT_SYMLINK_NOFOLLOW), 0);
  }
  /// As DPDK makes its own.
  [[nodiscard]] FileDescriptor listen_at(const std::string& name) const {
    FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    in(name).copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd.get(), 1), 0);
    return fd;
  }
  /// As `urxe run` does.
  void start_next() const {
    TreeContent content;
    content.files["a"] = "b";
    ASSERT_TRUE(publish_tree_in({place_}, {4026531840, "boot 1", "pid:[1]"}, content));
  }

  std::string place_;
  std::string directory_;
};

TEST_F(Leftovers, DraftsThatNobodyWritesGo) {
  ASSERT_TRUE(fs::create_directories(in(".tmp-killed/sys/x")));
  make_file(".tmp-killed/sys/x/y");
  const Draft living(directory_);
  ASSERT_FALSE(living.path().empty());
  start_next();
  EXPECT_FALSE(exists(".tmp-killed"));
  EXPECT_TRUE(fs::exists(living.path()));
}

TEST_F(Leftovers, LocksOfDevicesThatNobodyHasGo) {
  make_file("dpdk-killed");
  make_file("dpdk-living");
  const FileDescriptor living(open(in("dpdk-living").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(living.get(), LOCK_EX), 0);
  start_next();
  EXPECT_FALSE(exists("dpdk-killed"));
  EXPECT_TRUE(exists("dpdk-living"));
}

// Expect: the living one is not disturbed by a connection.
TEST_F(Leftovers, SocketsThatNobodyHasGo) {
  (void)listen_at("memif-killed");
  const FileDescriptor living = listen_at("memif-living");
  (void)listen_at("memif-new");
  make_old("memif-killed");
  make_old("memif-living");
  start_next();
  EXPECT_FALSE(exists("memif-killed"));
  EXPECT_TRUE(exists("memif-living"));
  EXPECT_TRUE(exists("memif-new")) << "its process may be in bind()";
  EXPECT_LT(accept(living.get(), nullptr, nullptr), 0);
}

TEST_F(Leftovers, OtherThingsStay) {
  make_file("lock");
  make_file("memif-file");
  ASSERT_TRUE(fs::create_directory(in("dpdk-folder")));
  ASSERT_TRUE(fs::create_directory(in("stat")));
  fs::create_symlink("lock", in("dpdk-link"));
  start_next();
  for (const char* const name : {"lock", "memif-file", "dpdk-folder", "stat", "dpdk-link"}) {
    EXPECT_TRUE(exists(name)) << name;
  }
}

// The lock of one that looks for leftovers may come first. Expect: a draft is always locked.
TEST_F(Leftovers, ManyAtATimeDoNotDisturbEachOther) {
  std::vector<Draft> drafts;
  for (int i = 0; i < 50; ++i) {
    drafts.emplace_back(directory_);
    remove_leftovers(directory_);
  }
  for (const Draft& draft : drafts) EXPECT_TRUE(fs::exists(draft.path())) << draft.path();
}

}  // namespace
}  // namespace urxe::test::leftovers_test
