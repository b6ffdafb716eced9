// SPDX-License-Identifier: BSD-2-Clause
/// The `urxe` program. Each subcommand has a file.
#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "tools/devices_command.h"
#include "tools/run_command.h"

namespace urxe {
namespace {

constexpr int kUsageError = 125;
constexpr const char* kFaultHelp =
    "Faults of the network, by a seeded plan: loss=P%, duplication=P%, reordering=P%, "
    "corruption=P%, seed=N, direction=in|out|both, joined by commas";
constexpr const char* kShmHelp =
    "Let the programs of one user on one host exchange packets through shared memory (the "
    "default), "
    "or over UDP only, as with other hosts. The last one counts";
constexpr const char* kEngineHelp =
    "How packets get to the network: udp (sockets, no privilege), raw (frames of an Ethernet "
    "interface, faster, needs CAP_NET_RAW), auto (the default: udp)";
constexpr const char* kDeviceHelp =
    "Present interface IFACE as device NAME; only the interfaces so named are presented. "
    "Repeatable";

/// The arguments up to the first "--", and those from it on.
struct SplitArguments {
  std::vector<char*> before;
  std::vector<std::string> from_dashes;
};

SplitArguments split_arguments(int argc, char** argv) {
  SplitArguments split;
  int i = 0;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) split.before.push_back(argv[i]);
  split.from_dashes.assign(argv + i, argv + argc);
  return split;
}

CLI::Option* add_device_option(CLI::App* command, std::vector<std::string>& devices) {
  return command->add_option("--device", devices, kDeviceHelp)
      ->type_name("NAME=IFACE")
      ->allow_extra_args(false);
}

void add_engine_option(CLI::App* command, std::optional<std::string>& engine) {
  command->add_option("--engine", engine, kEngineHelp)->type_name("ENGINE");
}

/// The program and its arguments. CLI11 leaves the first argument that is not an option, and all
/// after it, in `rest`: this is the program, and a "--" after it belongs to the program. The error
/// is a message for the user.
Expected<std::vector<std::string>, std::string> find_command(
    std::vector<std::string> rest, const std::vector<std::string>& from_dashes) {
  if (!rest.empty() && rest[0].size() > 1 && rest[0][0] == '-') {
    return Unexpected<std::string>("unknown option " + rest[0]);
  }
  size_t skipped = rest.empty() && !from_dashes.empty() ? 1 : 0;
  rest.insert(rest.end(), from_dashes.begin() + static_cast<ptrdiff_t>(skipped), from_dashes.end());
  if (rest.empty()) return Unexpected<std::string>("no program given");
  return rest;
}

int parse_and_run(int argc, char** argv) {
  SplitArguments split = split_arguments(argc, argv);
  CLI::App app{"RDMA devices for programs on a machine that has none"};
  app.name("urxe");
  app.set_version_flag("--version", "urxe " URXE_VERSION);
  app.require_subcommand(1);

  RunOptions run_options;
  CLI::App* run = app.add_subcommand(
      "run", "Run a program that sees RDMA devices: urxe run [OPTIONS] [--] PROG [ARGS...]");
  add_device_option(run, run_options.devices);
  run->add_option("--capture", run_options.capture, "Write the RoCE packets to a pcapng file")
      ->type_name("FILE");
  run->add_option("--fault", run_options.faults, kFaultHelp)->type_name("WORDS");
  add_engine_option(run, run_options.engine);
  bool shm = true;
  const CLI::Option* const shm_flag =
      run->add_flag("--shm,!--no-shm", shm, kShmHelp)->disable_flag_override();
  run->prefix_command();

  DevicesOptions listed;
  CLI::App* devices = app.add_subcommand("devices", "List the devices that `run` would present");
  add_device_option(devices, listed.devices);
  add_engine_option(devices, listed.engine);

  try {
    app.parse(static_cast<int>(split.before.size()), split.before.data());
  } catch (const CLI::ParseError& error) {
    int status = app.exit(error);
    return status == 0 ? 0 : kUsageError;
  }
  if (devices->parsed()) return devices_command(listed);

  auto command = find_command(run->remaining(), split.from_dashes);
  if (!command) {
    std::cerr << "urxe run: " << command.error()
              << "\nRun `urxe run --help` for more information.\n";
    return kUsageError;
  }
  if (!shm_flag->empty()) run_options.shm = shm;
  run_options.command = std::move(*command);
  return run_command(run_options);
}

}  // namespace
}  // namespace urxe

int main(int argc, char** argv) {
  try {
    urxe::leave_outer_run(argv);
    return urxe::parse_and_run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "urxe: " << error.what() << "\n";
    return 125;
  }
}
