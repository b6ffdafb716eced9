// SPDX-License-Identifier: BSD-2-Clause
// Two processes with many RC queue pairs between them; `urxe_qp_load --help`.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>

#include "tests/bench/qp_load/options.h"
#include "tests/bench/qp_load/patterns.h"

namespace {

void run(const bench::Options& options, int channel, bool writes) {
  bench::Side side;
  side.options = options;
  side.channel = channel;
  bench::connect_all(side);
  switch (options.pattern) {
    case bench::Pattern::kAll:
      return writes ? bench::write_on_all(side) : bench::be_written_to(side);
    case bench::Pattern::kOne:
      return bench::ping_pong(side, writes);
    case bench::Pattern::kIdle:
      return bench::stay_idle(side, writes);
    case bench::Pattern::kWithin:
      return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv);
  if (options.pattern == bench::Pattern::kWithin) {
    bench::write_within(options);
    return 0;
  }
  std::array<int, 2> channel{};
  bench::check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) == 0,
               "socketpair");
  const pid_t child = ::fork();
  bench::check(child >= 0, "fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(channel[0]);
    run(options, channel[1], false);
    return 0;
  }
  ::close(channel[1]);
  run(options, channel[0], true);
  std::fflush(stdout);
  int status = 0;
  bench::check(::waitpid(child, &status, 0) == child, "waitpid");
  return status == 0 ? 0 : 1;
}
