// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace urxe::umad {
namespace {

class UmadOpenFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto made = UmadFile::create("urxe_lo", O_CLOEXEC, &fd);
    ASSERT_TRUE(made);
    file = *made;
    files.add(file);
  }
  void TearDown() override { files.remove(*file); }

  OpenFiles& files = OpenFiles::instance();
  std::shared_ptr<UmadFile> file;
  int fd = -1;
};

// A thread may write to a file while another closes it: that thread then finds no file, or a later
// one of the same number, and is told what write() tells of a closed descriptor.
TEST_F(UmadOpenFiles, AFileThatWasClosedIsABadDescriptor) {
  EXPECT_EQ(*files.find(fd), file);
  ASSERT_EQ(dup2(STDIN_FILENO, fd), fd);
  EXPECT_EQ(files.find(fd).error().value, EBADF);
  close(fd);
  EXPECT_EQ(files.find(fd).error().value, EBADF);
}

TEST_F(UmadOpenFiles, AChildKnowsInheritedFilesButHasNoneOfThem) {
  const pid_t child = fork();
  if (child == 0) _exit(files.has(fd) && files.find(fd).error().value == ENODEV ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*files.find(fd), file);
  close(fd);
}

}  // namespace
}  // namespace urxe::umad
