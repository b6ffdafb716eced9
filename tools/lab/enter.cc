// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/enter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tools/exit_status.h"
#include "tools/lab/node.h"
#include "tools/lab/user_namespace.h"

namespace urxe::lab {
namespace {

int complain(const std::string& reason, int status) {
  fmt::print(stderr, "urxe lab: {}\n", reason);
  return status;
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
  const auto found = std::ranges::find(nodes, name, &HeldNode::name);
  if (found != nodes.end()) return become_in_node(found->holder, command);
  std::string names;
  for (const HeldNode& node : nodes) names += (names.empty() ? "" : ", ") + node.name;
  return complain(fmt::format("exec: there is no node '{}'; there are {}", name, names), kBadInput);
}

}  // namespace urxe::lab
