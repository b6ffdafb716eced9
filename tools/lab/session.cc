// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "packet/host/file_descriptor.h"
#include "tools/exit_status.h"
#include "tools/lab/enter.h"
#include "tools/lab/foreground.h"
#include "tools/lab/lab_environment.h"
#include "tools/lab/mounts.h"
#include "tools/lab/network.h"
#include "tools/lab/node.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

int complain(const std::string& reason) {
  fmt::print(stderr, "urxe lab: {}\n", reason);
  return kOurFailure;
}

Expected<std::vector<HeldNode>, std::string> make_lab(const Plan& plan) {
  if (unshare(CLONE_NEWNET) != 0) return system_failure("cannot make a network namespace");
  if (auto done = mount_for_all(hosts_of(plan)); !done) return failure(done.error());
  std::vector<HeldNode> nodes;
  std::vector<pid_t> holders;
  for (const Node& node : plan.nodes) {
    auto holder = hold_node(node);
    if (!holder) return failure(node.name + ": " + holder.error());
    nodes.push_back({node.name, *holder});
    holders.push_back(*holder);
  }
  if (auto done = make_network(plan, holders); !done) return failure(done.error());
  return nodes;
}

/// Whether the process at the other end, which writes nothing, has ended.
bool has_ended(int pipe) {
  pollfd end{pipe, POLLIN, 0};
  return poll(&end, 1, 0) != 0;
}

/// init of the PID namespace.
[[noreturn]] void be_init(const Session& session, int lifeline) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (has_ended(lifeline)) _exit(kOurFailure);
  std::optional<EndedByTerminal> until_the_command(std::in_place);
  const auto nodes = make_lab(session.plan);
  if (!nodes) _exit(complain(nodes.error()));
  set_lab_environment(*nodes);
  const pid_t pid = fork();
  if (pid == 0) _exit(become_in_node(nodes->front().holder, session.command));
  if (pid < 0) _exit(complain(std::string("fork(): ") + std::strerror(errno)));
  until_the_command.reset();
  _exit(wait_for(pid));
}

}  // namespace

int run_session(const Session& session) {
  expect_children();
  const OwnTerminal terminal;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return complain(std::string("pipe2(): ") + std::strerror(errno));
  const FileDescriptor lifeline(ends[0]);
  FileDescriptor alive(ends[1]);
  if (auto done = enter_namespaces(); !done) return complain(done.error());
  const pid_t pid = fork();
  if (pid < 0) return complain(std::string("fork(): ") + std::strerror(errno));
  if (pid == 0) {
    alive.reset();
    be_init(session, lifeline.get());
  }
  return follow_command(pid, terminal);
}

}  // namespace urxe::lab
