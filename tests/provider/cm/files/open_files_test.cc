// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/files/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace urxe::cm {
namespace {

struct Opened {
  std::shared_ptr<CmFile> file;
  FileDescriptor fd;
};

Opened open_file() {
  int fd = -1;
  auto made = CmFile::create(O_CLOEXEC, &fd);
  EXPECT_TRUE(made);
  return {*made, FileDescriptor(fd)};
}

TEST(OpenFiles, AFileIsFoundByAnyOfItsDescriptors) {
  OpenFiles files;
  auto first = open_file();
  auto second = open_file();
  files.add(first.file);
  files.add(second.file);
  FileDescriptor copy(dup(first.fd.get()));
  EXPECT_EQ(*files.find(first.fd.get()), first.file);
  EXPECT_EQ(*files.find(copy.get()), first.file);
  EXPECT_EQ(*files.find(second.fd.get()), second.file);
  EXPECT_TRUE(files.has(copy.get()));
  // Expect: not by the number of a closed one, nor this side's end.
  const int number = first.fd.get();
  ASSERT_EQ(dup2(STDIN_FILENO, number), number);
  EXPECT_EQ(files.find(number).error().value, EBADF);
  EXPECT_FALSE(files.has(number));
  EXPECT_FALSE(files.has(second.file->own_fd()));
  EXPECT_FALSE(files.has(-1));
  EXPECT_EQ(files.find(-1).error().value, EBADF);
}

TEST(OpenFiles, FilesThatAreGoneAreForgotten) {
  OpenFiles files;
  for (int i = 0; i < 1000; ++i) files.add(open_file().file);
  EXPECT_LT(files.size(), 100u);
}

TEST(OpenFiles, AChildKnowsInheritedFilesButHasNoneOfThem) {
  OpenFiles files;
  auto opened = open_file();
  files.add(opened.file);
  files.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    files.after_fork_in_child();
    bool right = files.has(opened.fd.get()) && files.find(opened.fd.get()).error().value == ENODEV;
    auto own = open_file();
    files.add(own.file);
    right = right && *files.find(own.fd.get()) == own.file;
    _exit(right ? 0 : 1);
  }
  files.after_fork_in_parent();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*files.find(opened.fd.get()), opened.file);
}

}  // namespace
}  // namespace urxe::cm
