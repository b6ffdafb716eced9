// SPDX-License-Identifier: BSD-2-Clause
// The lines on stderr about queue pairs that failed.
#include "provider/observation/failure_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "packet/wire/opcode.h"
#include "provider/observation/explanation.h"

namespace urxe::test {
namespace {

QpReport failed_report() {
  QpReport report;
  report.qpn = 0x11;
  report.type = IBV_QPT_RC;
  report.state = IBV_QPS_ERR;
  report.cause.reason = ErrorReason::kNak;
  report.cause.opcode = Opcode(Service::kRc, Operation::kAcknowledge).value;
  report.cause.syndrome = 0x62;
  report.cause.psn = Psn(0x123456);
  report.cause.status = IBV_WC_REM_ACCESS_ERR;
  report.cause.work_request = IBV_WR_RDMA_WRITE;
  report.cause.wr_id = 77;
  const uint8_t address[4] = {192, 0, 2, 1};
  report.cause.remote = Gid::from_ipv4(address);
  report.cause.dest_qpn = 0x22;
  return report;
}

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    for (const int end : ends) close(end);
  }
  int ends[2] = {-1, -1};
};

/// Runs `body` in a child, whose stderr is the pipe. Returns its wait status.
int run(const Pipe& target, const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    dup2(target.ends[1], STDERR_FILENO);
    close(target.ends[0]);
    close(target.ends[1]);
    alarm(60);
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

std::vector<std::string> lines_in(Pipe& source) {
  close(std::exchange(source.ends[1], -1));
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = read(source.ends[0], bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<size_t>(got));
  }
  std::vector<std::string> lines;
  std::istringstream input(text);
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

std::string silence(uint8_t free_timeouts) {
  ErrorCause cause;
  cause.reason = ErrorReason::kNoAnswer;
  cause.psn = Psn(7);
  cause.timeout = 14;
  cause.retries = 6;
  cause.free_timeouts = free_timeouts;
  ShortText text;
  add_event(text, cause);
  return std::string(text.view());
}

TEST(FailureLog, TimeoutsThatCostNoRetry) {
  const std::string line =
      "the peer has not answered the request with PSN 7: a local ACK timeout of 67.1ms (timeout "
      "14), and the retry count of 6 is used up";
  EXPECT_EQ(silence(0), line);
  EXPECT_EQ(silence(12),
            line + "; 12 more timeouts cost no retry, because too few processors were free");
}

TEST(FailureLog, RetriesForWantOfAReceive) {
  ErrorCause cause;
  cause.reason = ErrorReason::kReceiverNotReady;
  cause.retries = 3;
  cause.syndrome = 0x2e;  // RNR NAK, timer code 14
  ShortText text;
  add_event(text, cause);
  EXPECT_EQ(text.view(),
            "the peer had no receive posted, and the RNR retry count of 3 is used up; each retry "
            "waited 1.3ms");
}

TEST(FailureLog, ALineAFailure) {
  Pipe target;
  EXPECT_EQ(run(target,
                [] {
                  tell_failure("urxe_lo", failed_report());
                  tell_failure("urxe_lo", QpReport{});
                  tell_untold_failures();
                }),
            0);
  const auto lines = lines_in(target);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "urxe: queue pair 0x000011 (RC) of urxe_lo to 192.0.2.1 0x000022 failed: the peer has "
            "refused a request: NAK, remote access error; RC ACK, PSN 1193046, AETH "
            "syndrome 0x62; RDMA_WRITE, wr_id 77 (0x4d), completed with REM_ACCESS_ERR (10)");
}

TEST(FailureLog, ABoundedNumber) {
  Pipe target;
  EXPECT_EQ(run(target,
                [] {
                  for (unsigned i = 0; i < kMostFailureLines + 5; ++i) {
                    tell_failure("urxe_lo", failed_report());
                  }
                  tell_untold_failures();
                  tell_untold_failures();
                }),
            0);
  const auto lines = lines_in(target);
  ASSERT_EQ(lines.size(), kMostFailureLines + 1);
  EXPECT_TRUE(lines.back().starts_with("urxe: 5 more queue pairs have failed")) << lines.back();
}

TEST(FailureLog, CountsWhatIsNotTold) {
  Pipe target;
  EXPECT_EQ(run(target,
                [] {
                  while (may_tell_failures()) tell_failure("urxe_lo", failed_report());
                  count_untold_failures(7);
                  tell_untold_failures();
                }),
            0);
  const auto lines = lines_in(target);
  ASSERT_EQ(lines.size(), kMostFailureLines + 1);
  EXPECT_TRUE(lines.back().starts_with("urxe: 7 more queue pairs have failed")) << lines.back();
}

TEST(FailureLog, ChildrenTellNothingOfTheirParent) {
  Pipe target;
  EXPECT_EQ(run(target,
                [] {
                  for (unsigned i = 0; i < kMostFailureLines + 5; ++i) {
                    tell_failure("urxe_lo", failed_report());
                  }
                  forget_failures();
                  tell_untold_failures();
                }),
            0);
  EXPECT_EQ(lines_in(target).size(), kMostFailureLines);
}

/// Nobody reads: it neither waits nor ends the process.
TEST(FailureLog, AFullPipe) {
  Pipe target;
  ASSERT_EQ(fcntl(target.ends[1], F_SETFL, O_NONBLOCK), 0);
  while (write(target.ends[1], "x", 1) == 1) {
  }
  ASSERT_EQ(fcntl(target.ends[1], F_SETFL, 0), 0);
  EXPECT_EQ(run(target, [] { tell_failure("urxe_lo", failed_report()); }), 0);
}

TEST(FailureLog, AClosedPipe) {
  Pipe target;
  close(std::exchange(target.ends[0], -1));
  EXPECT_EQ(run(target,
                [] {
                  signal(SIGPIPE, SIG_DFL);
                  tell_failure("urxe_lo", failed_report());
                }),
            0);
}

TEST(FailureLog, LongNamesAreCut) {
  Pipe target;
  EXPECT_EQ(run(target, [] { tell_failure(std::string(5000, 'n'), failed_report()); }), 0);
  const auto lines = lines_in(target);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].size(), ShortText::kCapacity - 1);
}

}  // namespace
}  // namespace urxe::test
