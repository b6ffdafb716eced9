// SPDX-License-Identifier: BSD-2-Clause
/// The `urxe` program. Each subcommand has a file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/identity.h"
#include "tools/command_line_error.h"
#include "tools/device_options.h"
#include "tools/devices_command.h"
#include "tools/env_command.h"
#include "tools/lab/enter.h"
#include "tools/lab/remote_shell.h"
#include "tools/lab_options.h"
#include "tools/observing_commands.h"
#include "tools/output.h"
#include "tools/run_command.h"

namespace urxe {
namespace {

constexpr int kUsageError = 2;
constexpr const char* kFaultHelp =
    "Faults of the network, by a seeded plan: loss=P%, duplication=P%, reordering=P%, "
    "corruption=P%, delay=T, rate=R, seed=N, direction=in|out|both, joined by commas";
constexpr const char* kLanesHelp =
    "Let up to N threads (1 to 8) use a device at once: queue pairs get the lanes in turn. auto "
    "(the default): a lane for each thread that makes queue pairs, up to the number of processors";
constexpr const char* kShmHelp =
    "Let the programs of one user on one host exchange packets through shared memory (the "
    "default), "
    "or over UDP only, as with other hosts. The last one counts";
constexpr const char* kSysfsHelp =
    "Copy the devices' files in /sys to this folder, with the counters, for programs that cannot "
    "see them there";
constexpr const char* kExplainHelp =
    "Print a line on stderr when a queue pair fails, with the reason";

/// Help as CLI11 writes it, without the value that the name of a negative flag ends with there
/// ("--no-shm{false}").
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option_name(const CLI::Option* option,
                                             bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));
  }
};

/// The arguments up to the first "--", and those from it on.
struct SplitArguments {
  std::vector<std::string> before;
  std::vector<std::string> from_dashes;
};

/// Where the program of `urxe run` begins, or "--", if that comes first; argc: nowhere.
int find_program(const CLI::App& run, int argc, char** argv) {
  int i = 2;
  while (i < argc && argv[i][0] == '-' && std::string_view(argv[i]) != "--") {
    const CLI::Option* const option = run.get_option_no_throw(argv[i]);
    const bool takes_a_value = option != nullptr && option->get_items_expected_min() > 0;
    i += takes_a_value ? 2 : 1;
  }
  return std::min(i, argc);
}

SplitArguments split_arguments(const CLI::App& run, int argc, char** argv) {
  const bool is_run = argc > 1 && std::string_view(argv[1]) == "run";
  const int program = is_run ? find_program(run, argc, argv) : argc;
  SplitArguments split;
  int i = 0;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    split.before.emplace_back(argv[i]);
    // Its value begins like an option, which CLI11 does not expect of one that stands alone.
    if (split.before.back() != kDpdkOption || i + 1 >= program) continue;
    split.before.back() += std::string("=") + argv[++i];
  }
  split.from_dashes.assign(argv + i, argv + argc);
  return split;
}

/// Whether the words after "--" are a program and its arguments, as for `run` and `lab`. For the
/// other commands they are operands, which may begin with "-".
bool runs_a_program(const std::vector<std::string>& arguments) {
  const auto command = std::find_if(arguments.begin() + 1, arguments.end(),
                                    [](const std::string& word) { return !word.starts_with('-'); });
  return command == arguments.end() || *command == "run" || *command == "lab";
}

/// The options of `run` and `env`.
class RunArguments {
 public:
  explicit RunArguments(CLI::App* command);
  RunOptions take() {
    if (!shm_flag_->empty()) options_.shm = shm_;
    return std::move(options_);
  }

 private:
  RunOptions options_;
  bool shm_ = true;
  const CLI::Option* shm_flag_;
};

RunArguments::RunArguments(CLI::App* command) {
  add_device_option(command, options_.devices);
  command->add_option("--capture", options_.capture, "Write the RoCE packets to a pcapng file")
      ->type_name("FILE");
  command->add_option("--fault", options_.faults, kFaultHelp)->type_name("WORDS");
  add_engine_options(command, options_.engine, options_.dpdk_arguments);
  command->add_option("--lanes", options_.lanes, kLanesHelp)->type_name("N|auto");
  command->add_flag("--explain", options_.explain, kExplainHelp)->disable_flag_override();
  shm_flag_ = command->add_flag("--shm,!--no-shm", shm_, kShmHelp)->disable_flag_override();
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

/// `urxe lab` and `urxe lab exec`.
struct LabArguments {
  explicit LabArguments(CLI::App& app) : commands(add_lab(app, options, request)) {}
  int run(const std::vector<std::string>& from_dashes);

  LabOptions options;
  lab::ExecRequest request;
  LabCommands commands;
};

int LabArguments::run(const std::vector<std::string>& from_dashes) {
  const bool is_exec = commands.exec->parsed();
  auto rest = (is_exec ? commands.exec : commands.lab)->remaining();
  const bool has_command = !rest.empty() || from_dashes.size() > 1;
  if (!is_exec && !has_command) return lab_command(options);
  auto command = find_command(std::move(rest), from_dashes);
  if (!command) {
    std::cerr << "urxe lab: " << command.error()
              << "\nRun `urxe lab --help` for more information.\n";
    return kUsageError;
  }
  if (is_exec) {
    request.command = std::move(*command);
    return lab::lab_exec(request);
  }
  options.command = std::move(*command);
  return lab_command(options);
}

/// What is wrong with the first word, if it is neither an option nor one of the commands; else
/// empty.
std::string unknown_word(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2) return "no command given";
  const std::string& first = words[1];
  if (first.starts_with("-")) {
    const std::string name = first.substr(0, first.find('='));
    return app.get_option_no_throw(name) != nullptr ? "" : "there is no option '" + first + "'";
  }
  const auto is_it = [&](const CLI::App* command) { return command->get_name() == first; };
  return app.get_subcommands(is_it).empty() ? "there is no command '" + first + "'" : "";
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"RDMA devices for programs on a machine that has none"};
  app.name("urxe");
  app.set_version_flag("--version",
                       std::string("urxe " URXE_VERSION ", for libibverbs of ") + kServedLibraries);
  app.require_subcommand(1);
  app.failure_message(command_line_error);
  app.formatter(std::make_shared<HelpFormatter>());  // the subcommands' too

  CLI::App* run = app.add_subcommand(
      "run", "Run a program that sees RDMA devices: urxe run [OPTIONS] [--] PROG [ARGS...]");
  RunArguments run_arguments(run);
  run->prefix_command();

  CLI::App* env = app.add_subcommand("env", "Print the environment that `run` gives to a program");
  RunArguments env_arguments(env);

  DevicesOptions listed;
  CLI::App* devices = app.add_subcommand("devices", "List the devices that `run` would present");
  add_device_option(devices, listed.devices);
  add_engine_options(devices, listed.engine, listed.dpdk_arguments);
  devices->add_option("--sysfs", listed.sysfs, kSysfsHelp)->type_name("DIR");
  devices->add_option("--interval", listed.interval, "With --sysfs: write it again and again")
      ->type_name("SECONDS");

  const std::vector<ObservingCommand> observing = add_observing_commands(app);
  LabArguments lab(app);

  SplitArguments split = split_arguments(*run, argc, argv);
  if (!runs_a_program(split.before)) {
    split.before.insert(split.before.end(), split.from_dashes.begin(), split.from_dashes.end());
  }
  if (const std::string wrong = unknown_word(app, split.before); !wrong.empty()) {
    std::cerr << "urxe: " << wrong << "; `urxe --help` lists them\n";
    return kUsageError;
  }
  try {
    std::vector<char*> before;
    for (std::string& word : split.before) before.push_back(word.data());
    app.parse(static_cast<int>(before.size()), before.data());
  } catch (const CLI::ParseError& error) {
    int status = app.exit(error);
    return status == 0 ? 0 : kUsageError;
  }
  if (const std::string wrong = empty_option(app); !wrong.empty()) {
    std::cerr << wrong;
    return kUsageError;
  }
  if (devices->parsed()) return devices_command(listed);
  if (lab.commands.lab->parsed()) return lab.run(split.from_dashes);
  if (env->parsed()) return env_command(env_arguments.take());
  for (const ObservingCommand& command : observing) {
    if (command.app->parsed()) return command.run();
  }

  auto command = find_command(run->remaining(), split.from_dashes);
  if (!command) {
    std::cerr << "urxe run: " << command.error()
              << "\nRun `urxe run --help` for more information.\n";
    return kUsageError;
  }
  RunOptions run_options = run_arguments.take();
  run_options.command = std::move(*command);
  return run_command(run_options);
}

}  // namespace
}  // namespace urxe

int main(int argc, char** argv) {
  try {
    if (const auto status = urxe::run_as_helper(argc, argv)) return *status;
    if (!urxe::stays_under_run(argc, argv)) urxe::leave_outer_run(argv);
    const std::string_view name = argv[0];
    if (name.substr(name.rfind('/') + 1) == urxe::lab::kRemoteShellName) {
      return urxe::lab::remote_shell({argv + 1, argv + argc});
    }
    return urxe::finish_output(urxe::parse_and_run(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "urxe: " << error.what() << "\n";
    return 125;
  }
}
