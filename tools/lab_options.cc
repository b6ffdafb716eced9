// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab_options.h"

namespace urxe {
namespace {

constexpr const char* kLabHelp =
    "Run a program in the first of several nodes that a switch joins: urxe lab [OPTIONS] [--] "
    "[PROG [ARGS...]]";
constexpr const char* kLabExecHelp =
    "Run a program in a node of this lab, or of the one that runs: urxe lab exec NODE [--] PROG "
    "[ARGS...]";

std::string not_zero(const std::string& value) {
  return value == "0" ? "0 is no process" : "";
}

}  // namespace

LabCommands add_lab(CLI::App& app, LabOptions& options, lab::ExecRequest& request) {
  CLI::App* const lab = app.add_subcommand("lab", kLabHelp);
  CLI::App* const exec = lab->add_subcommand("exec", kLabExecHelp);
  lab->prefix_command();
  CLI::Option* const topology =
      lab->add_option("--topology", options.topology, "A file that names nodes, switches and links")
          ->type_name("FILE");
  lab->add_option("--nodes", options.nodes, "How many nodes: 1 to 64, 2 by default")
      ->excludes(topology);
  lab->add_option("--mtu", options.mtu, "The MTU of the links, 1500 by default")
      ->excludes(topology);
  lab->add_option("--loss", options.loss, "Packets that are lost, of those sent")
      ->type_name("P%")
      ->excludes(topology);
  lab->add_option("--delay", options.delay, "How long each packet takes: 50us")
      ->type_name("T")
      ->excludes(topology);
  lab->add_option("--rate", options.rate, "Bits that a device sends in a second: 10G")
      ->type_name("R")
      ->excludes(topology);
  exec->add_option("NODE", request.node, "The name of a node")->required();
  exec->add_option("--lab", request.keeper, "The process of `urxe lab`, if several labs run")
      ->type_name("PID")
      ->check(not_zero);
  exec->prefix_command();
  return {lab, exec};
}

}  // namespace urxe
