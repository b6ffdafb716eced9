// SPDX-License-Identifier: BSD-2-Clause
#include "tools/observing_commands.h"

#include <memory>
#include <string_view>
#include <utility>

#include "tools/analyze/analyze_command.h"
#include "tools/device_options.h"
#include "tools/doctor/peer/cm_probe.h"
#include "tools/doctor/ping/self_ping.h"
#include "tools/doctor_command.h"
#include "tools/drill_options.h"
#include "tools/lab/node.h"
#include "tools/stat/stat_command.h"
#include "tools/top/top_command.h"

namespace urxe {
namespace {

constexpr const char* kHtmlHelp =
    "Make a page for a browser, too, with plots over time: one file, which must not exist yet";
constexpr const char* kAllHelp = "Those in other network namespaces, too";
constexpr const char* kProgramHelp =
    "Look into this program, too: whether it would see the devices under `urxe run`";

ObservingCommand add_doctor(CLI::App& app) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* doctor =
      app.add_subcommand("doctor", "Look for what is in the way of RDMA on this machine");
  add_device_option(doctor, options->run.devices);
  add_engine_options(doctor, options->run.engine, options->run.dpdk_arguments);
  doctor->add_option("--program", options->program, kProgramHelp)->type_name("PROG");
  doctor->add_option("host", options->host, "A peer to reach: its name or address")
      ->type_name("HOST");
  doctor->add_flag("--json", options->json, "Print the findings as JSON")->disable_flag_override();
  return {doctor, [options] { return doctor_command(std::move(*options)); }};
}

ObservingCommand add_analyze(CLI::App& app) {
  auto options = std::make_shared<AnalyzeOptions>();
  CLI::App* command = app.add_subcommand("analyze", "Tell what happened in a capture");
  command->add_option("FILE", options->file, "The capture: pcap or pcapng")->required();
  command->add_flag("--json", options->json, "Print JSON, for programs")->disable_flag_override();
  command->add_option("--html", options->html, kHtmlHelp)->type_name("OUT");
  return {command, [options] { return analyze_command(*options); }};
}

void add_selection(CLI::App* command, stat::Selection& selection) {
  command->add_option("--pid", selection.pid, "Only this process")->type_name("PID");
  command->add_option("--device", selection.device, "Only this device")->type_name("DEVICE");
}

ObservingCommand add_top(CLI::App& app) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* top = app.add_subcommand("top", "Watch the queue pairs of the programs that run");
  add_selection(top, options->selection);
  top->add_flag("--all", options->all_namespaces, kAllHelp)->disable_flag_override();
  top->add_option("--interval", options->interval, "Between two looks, 1 by default")
      ->type_name("SECONDS");
  return {top, [options] {
            options->other_nodes = lab::shm_of_nodes();
            return top_command(*options);
          }};
}

ObservingCommand add_stat(CLI::App& app) {
  auto options = std::make_shared<StatOptions>();
  CLI::App* stat =
      app.add_subcommand("stat", "Show the queue pairs of the programs that run under urxe");
  add_selection(stat, options->selection);
  stat->add_option("--qp", options->qp, "Only this queue pair")->type_name("QPN");
  stat->add_flag("--all", options->all_namespaces, kAllHelp)->disable_flag_override();
  stat->add_option("--interval", options->interval, "Repeat, with what happens in a second")
      ->type_name("SECONDS");
  stat->add_option("--count", options->count, "So many reports, with --interval")->type_name("N");
  stat->add_flag("--why", options->why, "Say why queue pairs went to the error state")
      ->disable_flag_override();
  stat->add_flag("--wide", options->wide, "Print all columns")->disable_flag_override();
  stat->add_flag("--cq", options->cq, "Print completion queues instead of queue pairs")
      ->disable_flag_override();
  stat->add_option("--by", options->by, "Print sums of queue pairs: by process, or by device")
      ->type_name("WHAT");
  stat->add_flag("--json", options->json, "Print JSON, for programs")->disable_flag_override();
  stat->add_flag("--prometheus", options->prometheus,
                 "Print metrics in the text format of Prometheus")
      ->disable_flag_override();
  return {stat, [options] {
            options->other_nodes = lab::shm_of_nodes();
            return stat_command(std::move(*options));
          }};
}

ObservingCommand add_packet_drill(CLI::App& app) {
  auto options = std::make_shared<DrillOptions>();
  return {add_drill(app, *options), [options] { return drill_command(*options); }};
}

}  // namespace

std::vector<ObservingCommand> add_observing_commands(CLI::App& app) {
  return {add_doctor(app), add_analyze(app), add_stat(app), add_top(app), add_packet_drill(app)};
}

std::optional<int> run_as_helper(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == doctor::kSelfPingCommand) return doctor::self_ping();
  if (argc > 2 && std::string_view(argv[1]) == doctor::kPeerProbeCommand) {
    return doctor::probe_peer(argv[2]);
  }
  return std::nullopt;
}

bool stays_under_run(int argc, char** argv) {
  return is_drill_agent(argc, argv);
}

}  // namespace urxe
