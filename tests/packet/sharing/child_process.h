// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

namespace urxe::test {

/// A child process that runs `body`, with the writing end of a pipe to the parent, and ends. It is
/// killed when the object is destroyed or the parent ends.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void(int pipe)>& body) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      body(ends[1]);
      _exit(0);
    }
    ::close(ends[1]);
    pipe_ = ends[0];
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_), pipe_(other.pipe_) {
    other.pid_ = other.pipe_ = -1;
  }
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    kill();
    if (pipe_ >= 0) ::close(pipe_);
  }

  /// Sends SIGKILL and waits until the process has ended and all that it held is free.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// Waits until the process has ended by itself.
  void wait() {
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  void signal(int number) const { ::kill(pid_, number); }

  /// Waits for the next record that the child writes. nullopt if it has ended.
  template <class Record>
  std::optional<Record> read() const {
    Record record{};
    return ::read(pipe_, &record, sizeof record) == sizeof record ? std::optional(record)
                                                                  : std::nullopt;
  }
  [[nodiscard]] int fd() const { return pipe_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

template <class Record>
void write_record(int pipe, const Record& record) {
  if (write(pipe, &record, sizeof record) != sizeof record) _exit(1);
}

}  // namespace urxe::test
