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

#include "packet/host/file_descriptor.h"
#include "tools/exit_status.h"
#include "tools/lab/enter.h"
#include "tools/lab/mounts.h"
#include "tools/lab/network.h"
#include "tools/lab/node.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

constexpr int kBySignal = 128;

int complain(const std::string& reason) {
  fmt::print(stderr, "urxe lab: {}\n", reason);
  return kOurFailure;
}

/// Waits for the process; meanwhile takes the exit status of others that have lost their parents.
int wait_for(pid_t pid) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno == EINTR) continue;
    if (ended < 0) return complain(std::string("waitpid(): ") + std::strerror(errno));
    if (ended != pid) continue;
    return WIFSIGNALED(status) ? kBySignal + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

/// What programs in the lab find in their environment.
void set_environment(const std::vector<HeldNode>& nodes) {
  publish_nodes(nodes);
  const char* const path = std::getenv("PATH");
  setenv("PATH",
         (std::string(kPrograms) + ":" + (path != nullptr ? path : "/usr/bin:/bin")).c_str(), 1);
  // What urxe writes there would be left behind.
  unsetenv("XDG_RUNTIME_DIR");
  const std::string agent = std::string(kPrograms) + "/ssh";
  // The launchers of Open MPI 4 and before, of Open MPI 5, and of MPICH.
  setenv("OMPI_MCA_plm_rsh_agent", agent.c_str(), 1);
  setenv("PRTE_MCA_plm_ssh_agent", agent.c_str(), 1);
  setenv("HYDRA_LAUNCHER", "ssh", 1);
  setenv("HYDRA_LAUNCHER_EXEC", agent.c_str(), 1);
  // The remote shell passes the environment on; URXE_TREE is another one in each node.
  setenv("HYDRA_ENV", "none", 1);
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
  const auto nodes = make_lab(session.plan);
  if (!nodes) _exit(complain(nodes.error()));
  set_environment(*nodes);
  const pid_t pid = fork();
  if (pid == 0) _exit(become_in_node(nodes->front().holder, session.command));
  if (pid < 0) _exit(complain(std::string("fork(): ") + std::strerror(errno)));
  _exit(wait_for(pid));
}

/// A shell that has had the terminal gives it to nobody when it ends, because our process group has
/// no number in its PID namespace.
class Terminal {
 public:
  Terminal() : file_(open("/dev/tty", O_RDWR | O_CLOEXEC)) {
    had_ = file_ && tcgetpgrp(file_.get()) == getpgrp();
  }
  void take_back() const {
    if (!had_) return;
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(file_.get(), getpgrp());
  }

 private:
  FileDescriptor file_;
  bool had_ = false;
};

}  // namespace

int run_session(const Session& session) {
  const Terminal terminal;
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
  // Those of a terminal are for COMMAND.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  const int status = wait_for(pid);
  terminal.take_back();
  return status;
}

}  // namespace urxe::lab
