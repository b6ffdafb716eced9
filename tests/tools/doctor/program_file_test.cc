// SPDX-License-Identifier: BSD-2-Clause
// Where a program is found, as execvp(3) finds it.
#include "tools/program_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace urxe::test::program_file_test {
namespace {

/// A working directory with a program, and PATH; both are as before at the end.
class Place {
 public:
  Place() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(mkdtemp(directory_.data()));
    std::ofstream("here") << "#!/bin/true\n";
    std::filesystem::permissions("here", std::filesystem::perms::owner_all);
  }
  ~Place() {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(directory_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::filesystem::path before_;
  std::string path_ = getenv("PATH");
  std::string directory_ = testing::TempDir() + "urxe-program-XXXXXX";
};

TEST(ResolveProgram, AnEmptyEntryIsTheWorkingDirectory) {
  const Place place;
  for (const char* path : {"", ":", "/nowhere:", ":/nowhere", "/nowhere::/bin"}) {
    setenv("PATH", path, 1);
    EXPECT_EQ(resolve_program("here"), "./here") << path;
  }
  setenv("PATH", "/nowhere", 1);
  EXPECT_EQ(resolve_program("here"), "here");
}

TEST(ResolveProgram, WithoutPathTheSystemsDirectories) {
  const Place place;
  unsetenv("PATH");
  EXPECT_EQ(resolve_program("sh"), "/bin/sh");
  EXPECT_EQ(resolve_program("here"), "here");
}

}  // namespace
}  // namespace urxe::test::program_file_test
