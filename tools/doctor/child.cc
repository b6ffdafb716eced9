// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "packet/host/clock.h"
#include "packet/host/file_descriptor.h"

namespace urxe::doctor {
namespace {

constexpr size_t kMostChildBytes = size_t{4} << 20;
constexpr int64_t kNsPerMs = 1000000;

struct Pipe {
  FileDescriptor read;
  FileDescriptor write;
};

std::optional<Pipe> open_pipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

/// Tells the errno of execvp() through `failed`, which closes if it succeeds.
[[noreturn]] void be_child(char* const* arguments, int out, int err, int failed, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execvp(arguments[0], arguments);
  const int why = errno;
  (void)!write(failed, &why, sizeof why);
  _exit(1);
}

/// Reads a part. False at the end.
bool read_part(int fd, std::string& text) {
  char part[16384];
  const ssize_t size = read(fd, part, sizeof part);
  if (size < 0) return errno == EINTR;
  const size_t room = kMostChildBytes - std::min(kMostChildBytes, text.size());
  text.append(part, std::min(static_cast<size_t>(size), room));
  return size > 0;
}

/// Reads until both pipes end. False: that takes longer than until `end`.
bool read_until(Instant end, FileDescriptor out, FileDescriptor err, ChildResult& result) {
  std::array<pollfd, 2> open{pollfd{out.get(), POLLIN, 0}, pollfd{err.get(), POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    const Duration left = end - clock_now();
    if (left.ns <= 0) return false;
    if (poll(open.data(), open.size(), static_cast<int>(left.ns / kNsPerMs) + 1) < 0) continue;
    if (open[0].revents != 0 && !read_part(open[0].fd, result.out)) open[0].fd = -1;
    if (open[1].revents != 0 && !read_part(open[1].fd, result.err)) open[1].fd = -1;
  }
  return true;
}

/// Waits for the child, which has closed its output and so is about to end.
int reap(pid_t child, Instant end, ChildResult& result) {
  constexpr timespec kPause{0, 1000000};
  int status = 0;
  for (;;) {
    const pid_t reaped = waitpid(child, &status, result.timed_out ? 0 : WNOHANG);
    if (reaped == child) return status;
    if (reaped < 0 && errno != EINTR) return status;
    if (reaped != 0 || result.timed_out) continue;
    if (clock_now() < end) {
      nanosleep(&kPause, nullptr);
      continue;
    }
    result.timed_out = true;
    kill(-child, SIGKILL);
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& command, Duration limit) {
  ChildResult result;
  auto out = open_pipe();
  auto err = open_pipe();
  auto failed = open_pipe();
  if (!out || !err || !failed) {
    result.start_error = errno;
    return result;
  }
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    be_child(arguments.data(), out->write.get(), err->write.get(), failed->write.get(), parent);
  }
  if (child < 0) {
    result.start_error = errno;
    return result;
  }
  setpgid(child, child);  // so that kill() finds the group, whoever of the two comes first
  out->write.reset();
  err->write.reset();
  failed->write.reset();
  const Instant end = clock_now() + limit;
  int why = 0;
  if (read(failed->read.get(), &why, sizeof why) == sizeof why) result.start_error = why;
  result.timed_out = !read_until(end, std::move(out->read), std::move(err->read), result);
  if (result.timed_out) kill(-child, SIGKILL);
  result.status = reap(child, end, result);
  return result;
}

void tell_parent(const std::string& line) {
  fmt::print("{}\n", line);
  (void)std::fflush(stdout);
}

}  // namespace urxe::doctor
