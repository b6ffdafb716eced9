// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/script_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace urxe::drill {
namespace {

namespace fs = std::filesystem;

class ScriptFiles : public testing::Test {
 protected:
  ScriptFiles() { fs::create_directories(folder_ / "below"); }
  ~ScriptFiles() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] ScriptError error_of(const std::string& name) const {
    const auto read = read_scripts({folder_ / name});
    return read ? ScriptError{"", 0, 0, "it was read"} : read.error();
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("urxe_scripts_" + std::to_string(getpid()));
};

TEST_F(ScriptFiles, ThoseOfAFolderComeInOrder) {
  write("b.drill", "title two\nqp RC\n");
  write("below/a.drill", "title three\nqp RC\n");
  write("a.drill", "title one\nqp RC\n");
  write("notes", "no script");
  const auto read = read_scripts({folder_});
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ(read->at(0).script.title, "one");
  EXPECT_EQ(read->at(1).path, folder_ / "b.drill");
  EXPECT_EQ(read->at(2).script.title, "three");
}

TEST_F(ScriptFiles, TheReasonIsTold) {
  EXPECT_EQ(error_of("none").what, "No such file or directory");
  EXPECT_EQ(error_of("").what, "no script (*.drill) in this folder");
}

TEST_F(ScriptFiles, AFolderIsNoScriptWhateverItsName) {
  fs::create_directory(folder_ / "x.drill");
  write("x.drill/a.drill", "title one\nqp RC\n");
  const auto read = read_scripts({folder_});
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 1U);
  EXPECT_EQ(read->at(0).path, folder_ / "x.drill/a.drill");
}

TEST_F(ScriptFiles, AMistakeHasItsPlace) {
  write("wrong", "title t\nqp RC\nnonsense\n");
  const ScriptError error = error_of("wrong");
  EXPECT_EQ(error.line, 3);
  EXPECT_EQ(error.column, 1);
  EXPECT_TRUE(error.what.starts_with("expected ")) << error.what;
}

/// Root may read everything; the user of this number may not.
class Nobody {
 public:
  Nobody() {
    if (geteuid() == 0) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~Nobody() { EXPECT_EQ(seteuid(getuid()), 0); }
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
};

TEST_F(ScriptFiles, OnesThatMayNotBeReadAreNamed) {
  write("a.drill", "title t\nqp RC\n");
  fs::permissions(folder_ / "a.drill", fs::perms::none);
  fs::permissions(folder_ / "below", fs::perms::none);
  {
    const Nobody nobody;
    EXPECT_EQ(error_of("a.drill").what, "Permission denied");
    EXPECT_EQ(error_of("below").what, "Permission denied");
  }
  fs::permissions(folder_ / "below", fs::perms::owner_all);
}

}  // namespace
}  // namespace urxe::drill
