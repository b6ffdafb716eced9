// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/read_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "packet/host/network_identity.h"

namespace urxe::test::read_file_test {
namespace {

TEST(ReadFile, ReadsAll) {
  const std::string path = testing::TempDir() + "/urxe-read-file-" + std::to_string(getpid());
  const std::string text(10000, 'x');
  std::ofstream(path) << text << "end";
  EXPECT_EQ(read_file(path).value_or(""), text + "end");
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(read_file(path).value_or("none"), "");
  unlink(path.c_str());
  EXPECT_EQ(read_file(path).error().value, ENOENT);
}

// std::ifstream threw where the read failed.
TEST(ReadFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(read_file("/proc/self").error().value, EISDIR);
}

// The defect: a program that lacked a descriptor once took its network for another one, and met
// nobody there.
TEST(NetworkIdentity, IsNotAnotherForLackOfDescriptors) {
  const auto identity = network_identity();
  ASSERT_TRUE(identity);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto lacking = network_identity();
  const auto cookie = network_cookie();
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().value, EMFILE);
  EXPECT_FALSE(cookie);
  EXPECT_EQ(network_identity().value_or(""), *identity);
}

}  // namespace
}  // namespace urxe::test::read_file_test
