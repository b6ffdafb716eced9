// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/enter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tools/exit_status.h"
#include "tools/lab/failure.h"
#include "tools/lab/foreground.h"
#include "tools/lab/lab_environment.h"
#include "tools/lab/node.h"
#include "tools/lab/running_labs.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

int complain(const std::string& reason, int status) {
  fmt::print(stderr, "urxe lab: {}\n", reason);
  return status;
}

std::string names_of(const std::vector<HeldNode>& nodes) {
  std::string names;
  for (const HeldNode& node : nodes) names += (names.empty() ? "" : ", ") + node.name;
  return names;
}

Expected<pid_t, std::string> find_holder(const std::vector<HeldNode>& nodes,
                                         const std::string& name) {
  const auto found = std::ranges::find(nodes, name, &HeldNode::name);
  if (found != nodes.end()) return found->holder;
  return failure(fmt::format("exec: there is no node '{}'; there are {}", name, names_of(nodes)));
}

/// The one of `keeper`, or the only one.
Expected<RunningLab, std::string> choose_lab(std::vector<RunningLab> labs, pid_t keeper) {
  std::string list;
  for (const RunningLab& lab : labs) {
    if (lab.keeper == keeper) return lab;
    list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", lab.keeper, names_of(lab.nodes));
  }
  if (labs.empty()) return failure("exec: this process is in no lab, and this user runs none");
  if (keeper != 0) {
    return failure(
        fmt::format("exec: process {} is no `urxe lab` of this user; there are {}", keeper, list));
  }
  if (labs.size() == 1) return labs.front();
  return failure("exec: this user runs several labs, choose one by --lab PID: " + list);
}

/// From outside. The process that waits has its terminal's signals ignored.
int run_in_lab(const RunningLab& lab, pid_t holder, const std::vector<std::string>& command) {
  const OwnTerminal terminal;
  if (auto done = enter_lab(lab.member); !done) return complain(done.error(), kOurFailure);
  const pid_t pid = fork();
  if (pid < 0) return complain(std::string("fork(): ") + std::strerror(errno), kOurFailure);
  if (pid == 0) {
    set_lab_environment(lab.nodes);
    _exit(become_in_node(holder, command));
  }
  return follow_command(pid, terminal);
}

}  // namespace

int become_in_node(pid_t holder, const std::vector<std::string>& command) {
  if (auto done = enter_node(holder); !done) return complain(done.error(), kOurFailure);
  if (auto done = keep_rights(); !done) return complain(done.error(), kOurFailure);
  std::vector<std::string> words{"urxe", "run", "--"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  return complain(std::string("cannot run urxe: ") + std::strerror(errno), kOurFailure);
}

int exec_in_node(const std::string& name, const std::vector<std::string>& command) {
  const std::vector<HeldNode> nodes = read_nodes();
  if (nodes.empty()) return complain("exec: this process is in no lab", kBadInput);
  const auto holder = find_holder(nodes, name);
  if (!holder) return complain(holder.error(), kBadInput);
  return become_in_node(*holder, command);
}

int lab_exec(const ExecRequest& request) {
  expect_children();
  if (request.keeper == 0 && !read_nodes().empty()) {
    return exec_in_node(request.node, request.command);
  }
  const auto lab = choose_lab(running_labs(), request.keeper);
  if (!lab) return complain(lab.error(), kBadInput);
  const auto holder = find_holder(lab->nodes, request.node);
  if (!holder) return complain(holder.error(), kBadInput);
  return run_in_lab(*lab, *holder, request.command);
}

}  // namespace urxe::lab
