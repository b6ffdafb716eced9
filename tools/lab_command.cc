// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "packet/engine/fault_plan.h"
#include "tools/exit_status.h"
#include "tools/lab/failure.h"
#include "tools/lab/plan.h"
#include "tools/lab/session.h"
#include "tools/lab/topology.h"

namespace urxe {
namespace {

constexpr unsigned kDefaultNodes = 2;

int refuse_lab(const std::string& reason) {
  fmt::print(stderr, "urxe lab: {}\n", reason);
  return kBadInput;
}

/// The words of --fault. Each packet meets them once: at its sender.
std::string fault_words(const LabOptions& options) {
  std::string words;
  for (const auto& [name, value] :
       {std::pair("loss", options.loss), {"delay", options.delay}, {"rate", options.rate}}) {
    if (!value.empty()) words += fmt::format("{}={},", name, value);
  }
  return words.empty() ? "" : words + "direction=out";
}

/// What the user gave as one of the options that fault_words() takes, and how it should look.
struct FaultOption {
  const char* name;
  const std::string& value;
  const char* form;
};

/// A sentence on the first that cannot be read; empty: all can.
std::string check_faults(const LabOptions& options) {
  for (const FaultOption& option :
       {FaultOption{"loss", options.loss, "a percentage of the packets, with its sign: 5%"},
        {"delay", options.delay, "a time with its unit, 10s at most: 50us, 2ms"},
        {"rate", options.rate, "bits a second, with K, M or G, up to 1000G: 100M, 10G"}}) {
    if (option.value.empty()) continue;
    if (parse_fault_plan(fmt::format("{}={}", option.name, option.value))) continue;
    return fmt::format("--{} {}: must be {}", option.name, option.value, option.form);
  }
  return "";
}

Expected<lab::Plan, std::string> make_star(const LabOptions& options) {
  const unsigned nodes = options.nodes.value_or(kDefaultNodes);
  const unsigned mtu = options.mtu.value_or(lab::kDefaultMtu);
  if (nodes < 1 || nodes > lab::kMostNodes) {
    return lab::failure(fmt::format("--nodes: from 1 to {}", lab::kMostNodes));
  }
  if (mtu < lab::kLeastMtu || mtu > lab::kMostMtu) {
    return lab::failure(fmt::format("--mtu: from {} to {}", lab::kLeastMtu, lab::kMostMtu));
  }
  if (const std::string wrong = check_faults(options); !wrong.empty()) return lab::failure(wrong);
  const std::string words = fault_words(options);
  lab::Plan plan = lab::star(nodes, mtu);
  for (lab::Node& node : plan.nodes) node.ports.front().faults = words;
  return plan;
}

std::vector<std::string> shell() {
  const char* const shell = std::getenv("SHELL");
  return {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"};
}

void greet(const lab::Plan& plan) {
  if (isatty(STDERR_FILENO) == 0) return;
  const std::string& last = plan.nodes.back().name;
  fmt::print(stderr,
             "A shell in {}; the nodes are {} to {}. `urxe lab exec {} -- COMMAND` runs a command "
             "in {}. The lab ends with this shell.\n",
             plan.nodes.front().name, plan.nodes.front().name, last, last, last);
}

}  // namespace

int lab_command(const LabOptions& options) {
  auto plan = options.topology.empty() ? make_star(options) : lab::read_topology(options.topology);
  if (!plan) return refuse_lab(plan.error());
  lab::Session session;
  session.plan = *std::move(plan);
  session.command = options.command.empty() ? shell() : options.command;
  if (options.command.empty()) greet(session.plan);
  return lab::run_session(session);
}

}  // namespace urxe
