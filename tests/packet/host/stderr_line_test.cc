// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/stderr_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

#include "packet/host/file_descriptor.h"

namespace urxe::test::stderr_line_test {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reading = FileDescriptor(ends[0]);
    writing = FileDescriptor(ends[1]);
  }
  FileDescriptor reading;
  FileDescriptor writing;
};

/// Writes a line in a child whose stderr is the pipe. Returns how the child ended.
int write_line_to(const Pipe& pipe, const std::function<void()>& before) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    alarm(20);
    dup2(pipe.writing.get(), STDERR_FILENO);
    before();
    errno = 77;
    write_stderr_line({"urxe: ", "a line", "\n"});
    _exit(errno == 77 ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(StderrLine, IsWrittenWhole) {
  const Pipe pipe;
  EXPECT_EQ(write_line_to(pipe, [] {}), 0);
  char text[64] = {};
  EXPECT_EQ(read(pipe.reading.get(), text, sizeof text - 1), 13);
  EXPECT_STREQ(text, "urxe: a line\n");
}

TEST(StderrLine, IsLeftOutWhereNobodyReads) {
  Pipe pipe;
  pipe.reading.reset();
  EXPECT_EQ(write_line_to(pipe, [] {}), 0);
}

TEST(StderrLine, IsLeftOutWhereItWouldHaveToWait) {
  const Pipe pipe;
  EXPECT_EQ(fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK), 0);
  const std::string page(4096, 'x');
  while (write(pipe.writing.get(), page.data(), page.size()) > 0) {
  }
  EXPECT_EQ(fcntl(pipe.writing.get(), F_SETFL, 0), 0);
  EXPECT_EQ(write_line_to(pipe, [] {}), 0);
}

TEST(StderrLine, IsLeftOutWhereThereIsNoStderr) {
  const Pipe pipe;
  EXPECT_EQ(write_line_to(pipe, [] { close(STDERR_FILENO); }), 0);
}

}  // namespace
}  // namespace urxe::test::stderr_line_test
