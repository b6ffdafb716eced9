// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

namespace urxe::sim {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "urxe_cluster: %s; --help lists the options\n", why.c_str());
  std::exit(2);
}

void add_traffic(CLI::App& app, ClusterPlan& plan) {
  app.add_option("--hosts", plan.hosts, "around the switch")->capture_default_str();
  app.add_option_function<std::string>(
         "--pattern",
         [&plan](const std::string& name) {
           const Pattern* pattern = find_pattern(name);
           if (pattern == nullptr) throw CLI::ValidationError("--pattern", "no pattern " + name);
           plan.pattern = *pattern;
         },
         "incast (the default), permutation or all-to-all")
      ->type_name("PATTERN");
  app.add_option("--peers", plan.peers, "of each host, if all send to all; all others by default");
  app.add_option("--bytes", plan.message_bytes, "of a message")->capture_default_str();
  app.add_option("--messages", plan.messages, "of a sender to a receiver")->capture_default_str();
  app.add_option("--depth", plan.depth, "messages posted at once")->capture_default_str();
  app.add_flag("--read", plan.reads, "the receivers READ");
  app.add_option("--mtu", plan.path_mtu, "path MTU")->capture_default_str();
  app.add_flag_callback(
      "--go-back", [&plan] { plan.keeps_requests = false; },
      "responders keep nothing of what comes behind a gap");
}

void add_network(CLI::App& app, ClusterPlan& plan) {
  app.add_option("--rate", plan.bits_per_second, "of a link, in bits a second")
      ->capture_default_str();
  app.add_option("--delay", plan.delay.ns, "of a link, in ns")->capture_default_str();
  app.add_option("--port", plan.port_bytes, "bytes that wait at a port of the switch, at most")
      ->capture_default_str();
  app.add_option("--mark", plan.mark_bytes, "mark packets that find more bytes waiting (ECN)");
  app.add_option("--loss", plan.loss_per_million, "of a million packets of a link, lost by chance")
      ->capture_default_str();
  app.add_option("--seed", plan.seed, "of what happens by chance")->capture_default_str();
}

void add_output(CLI::App& app, ClusterOptions& options) {
  app.add_flag("--twice", options.twice, "run it two times and compare");
  app.add_option("--json", options.json, "write the figures to a file")->type_name("FILE");
  app.add_option("--plot", options.plot, "write a plot to a file")->type_name("FILE.svg");
  app.add_option("--least-goodput", options.least_goodput, "fail below it; 1: the links are full");
  app.add_option("--least-share", options.least_share, "fail if a flow has less; 1: an equal part");
  app.add_option("--most-share", options.most_share, "fail if a flow has more");
}

}  // namespace

ClusterOptions parse_cluster_options(int argc, char** argv) {
  ClusterOptions options;
  CLI::App app{
      "Hosts that run urxe's transport, around a switch, in virtual time. Prints what happened; "
      "the\n"
      "same options give the same figures. Exit codes: 0 fine, 1 a flow failed, or a figure is\n"
      "beyond one of the last three options, 2 wrong use, or a file that cannot be written.",
      "urxe_cluster"};
  add_traffic(app, options.plan);
  add_network(app, options.plan);
  add_output(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) std::exit(app.exit(error));
    refuse(error.what());
  }
  const std::string error = plan_error(options.plan);
  if (!error.empty()) refuse(error);
  return options;
}

}  // namespace urxe::sim
