// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace urxe::umad {
namespace {

// A thread may write to a file while another closes it: that thread then finds no file, or a later
// one of the same number, and is told what write() tells of a closed descriptor.
TEST(UmadOpenFiles, AFileThatWasClosedIsABadDescriptor) {
  OpenFiles& files = OpenFiles::instance();
  int fd = -1;
  const auto file = UmadFile::create("urxe_lo", O_CLOEXEC, &fd);
  ASSERT_TRUE(file);
  files.add(*file);
  EXPECT_EQ(*files.find(fd), *file);
  ASSERT_EQ(dup2(STDIN_FILENO, fd), fd);
  EXPECT_EQ(files.find(fd).error().value, EBADF);
  close(fd);
  EXPECT_EQ(files.find(fd).error().value, EBADF);
  files.remove(**file);
}

TEST(UmadOpenFiles, AChildKnowsInheritedFilesButHasNoneOfThem) {
  OpenFiles& files = OpenFiles::instance();
  int fd = -1;
  const auto file = UmadFile::create("urxe_lo", O_CLOEXEC, &fd);
  ASSERT_TRUE(file);
  files.add(*file);
  const pid_t child = fork();
  if (child == 0) _exit(files.has(fd) && files.find(fd).error().value == ENODEV ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*files.find(fd), *file);
  files.remove(**file);
  close(fd);
}

}  // namespace
}  // namespace urxe::umad
