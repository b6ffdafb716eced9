// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace urxe::test {

/// A directory to which every user can write, like /dev/shm. Removed at the end.
class ScratchPlace {
 public:
  ScratchPlace() {
    char name[] = "/tmp/urxe-test-XXXXXX";
    EXPECT_NE(mkdtemp(name), nullptr);
    path_ = name;
    EXPECT_EQ(chmod(name, 01777), 0);
  }
  ScratchPlace(const ScratchPlace&) = delete;
  ScratchPlace& operator=(const ScratchPlace&) = delete;
  ~ScratchPlace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// How many names there are in it.
  [[nodiscard]] size_t entries() const {
    namespace fs = std::filesystem;
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  std::string path_;
};

/// The user as whom a test's child acts against root.
inline constexpr unsigned kStranger = 64999;

/// For a child. Another user does not inherit the signal at the parent's end.
inline bool become_stranger() {
  return setresgid(kStranger, kStranger, kStranger) == 0 &&
         setresuid(kStranger, kStranger, kStranger) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

}  // namespace urxe::test
