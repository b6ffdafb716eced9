// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill_options.h"

#include <algorithm>
#include <string_view>

namespace urxe {
namespace {

constexpr const char* kAgent = "--agent";
constexpr const char* kPeerHelp =
    "Run the scripts on the wire, against the device whose agent is there";
constexpr const char* kLocalHelp = "With --peer: the address to send from";
constexpr const char* kPatienceHelp =
    "With --peer: how late what a script expects may come, 1000 by default";
constexpr const char* kAgentHelp = "Do the verbs of scripts that another host runs with --peer";
constexpr const char* kAgentDeviceHelp = "With --agent: the device, by default the first";
constexpr const char* kGidHelp = "With --agent: the GID, by default the first of IPv4";
constexpr const char* kListenHelp = "With --agent: the address to listen on, by default the GID's";
constexpr const char* kPortHelp = "With --agent: the TCP port to listen on, 18791 by default";
constexpr const char* kKeepHelp = "With --agent: serve the next client when one has left";
constexpr unsigned kMaxPatienceMs = 3'600'000;
constexpr unsigned kMaxGidIndex = 255;

}  // namespace

CLI::App* add_drill(CLI::App& app, DrillOptions& options) {
  CLI::App* drill =
      app.add_subcommand("drill", "Run packet scripts against the transport, or a device's host");
  CLI::Option* scripts =
      drill->add_option("SCRIPT", options.scripts, "Scripts, or folders of *.drill");
  drill->add_flag("--verbose", options.verbose, "Name the scripts that pass, too")
      ->disable_flag_override();
  drill->add_flag("--json", options.json, "Print JSON, for programs")->disable_flag_override();
  CLI::Option* peer =
      drill->add_option("--peer", options.peer, kPeerHelp)->type_name("HOST[:PORT]");
  drill->add_option("--local", options.local, kLocalHelp)->type_name("ADDR")->needs(peer);
  drill->add_option("--patience", options.patience_ms, kPatienceHelp)
      ->type_name("MS")
      ->check(CLI::Range(1U, kMaxPatienceMs))
      ->needs(peer);
  CLI::Option* agent = drill->add_flag(kAgent, options.agent, kAgentHelp)->disable_flag_override();
  agent->excludes(peer)->excludes(scripts);
  drill->add_option("--device", options.device, kAgentDeviceHelp)
      ->type_name("DEVICE")
      ->needs(agent);
  drill->add_option("--gid-index", options.gid_index, kGidHelp)
      ->type_name("N")
      ->check(CLI::Range(0U, kMaxGidIndex))
      ->needs(agent);
  drill->add_option("--listen", options.listen, kListenHelp)->type_name("ADDR")->needs(agent);
  drill->add_option("--port", options.port, kPortHelp)->type_name("PORT")->needs(agent);
  drill->add_flag("--keep", options.keep, kKeepHelp)->disable_flag_override()->needs(agent);
  return drill;
}

bool is_drill_agent(int argc, char** argv) {
  return argc > 1 && std::string_view(argv[1]) == "drill" &&
         std::any_of(argv + 2, argv + argc,
                     [](const char* word) { return std::string_view(word) == kAgent; });
}

}  // namespace urxe
