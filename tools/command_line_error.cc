// SPDX-License-Identifier: BSD-2-Clause
#include "tools/command_line_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace urxe {
namespace {

struct Kind {
  std::string_view type_name;  ///< of the options
  std::string_view wanted;
};

constexpr auto kKinds = std::to_array<Kind>({
    {"PID", "the number of a process"},
    {"SECONDS", "a number of seconds, such as 0.5"},
    {"MS", "a number of milliseconds"},
    {"PORT", "a port number, 0 to 65535"},
});
constexpr std::string_view kOtherKind = "a whole number, 0 or more";

/// The commands that were named: `urxe`, `lab`, `exec`.
std::vector<const CLI::App*> named_commands(const CLI::App* app) {
  std::vector<const CLI::App*> commands{app};
  while (!commands.back()->get_subcommands().empty()) {
    commands.push_back(commands.back()->get_subcommands().front());
  }
  return commands;
}

std::string_view wanted_for(const CLI::Option& option) {
  const auto kind = std::ranges::find(kKinds, option.get_type_name(), &Kind::type_name);
  return kind != kKinds.end() ? kind->wanted : kOtherKind;
}

/// The sentence on a value that is no number.
std::string unconverted(const CLI::App& command, const std::string& said) {
  for (const CLI::Option* const option : command.get_options()) {
    const std::string name = option->get_name();
    const std::string start = "Could not convert: " + name + " = ";
    if (!said.starts_with(start)) continue;
    return fmt::format("{} {}: must be {}", name, said.substr(start.size()), wanted_for(*option));
  }
  return said;
}

/// What CLI11 says of it, or plainer words. An argument that the command does not know comes first:
/// what is missing may be just what was misspelt.
std::string sentence(const CLI::App& app, const CLI::Error& error) {
  std::string said = error.what();
  const int code = error.get_exit_code();  // the name may be the command's
  const bool is_extra = code == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                        code == static_cast<int>(CLI::ExitCodes::RequiredError);
  const auto unknown = is_extra ? app.remaining(true) : std::vector<std::string>();
  if (!unknown.empty()) return fmt::format("not expected: {}", fmt::join(unknown, " "));
  if (error.get_name() == "ConversionError") return unconverted(*named_commands(&app).back(), said);
  if (error.get_name() != "ArgumentMismatch") return said;
  constexpr std::string_view kOverride = " was given a disallowed flag override";
  if (said.ends_with(kOverride)) {
    return "--" + said.substr(0, said.size() - kOverride.size()) + " takes no value";
  }
  constexpr std::string_view kTwice = ": At Most 1 required but received ";
  if (const size_t at = said.find(kTwice); at != std::string::npos) {
    return said.substr(0, at) + " is given more than once";
  }
  constexpr std::string_view kMissing = ": 1 required ";
  const size_t at = said.find(kMissing);
  if (at == std::string::npos || !said.ends_with(" missing")) return said;
  const std::string type = said.substr(at + kMissing.size());
  return said.substr(0, at) + " needs a value: " + type.substr(0, type.rfind(' '));
}

std::string told(const CLI::App* app, std::string_view what) {
  std::string name;
  for (const CLI::App* const command : named_commands(app)) {
    name += (name.empty() ? "" : " ") + command->get_name();
  }
  return fmt::format("{}: {}\nRun `{} --help` for more information.\n", name, what, name);
}

}  // namespace

std::string command_line_error(const CLI::App* app, const CLI::Error& error) {
  return told(app, sentence(*app, error));
}

std::string empty_option(const CLI::App& app) {
  for (const CLI::App* const command : named_commands(&app)) {
    for (const CLI::Option* const option : command->get_options()) {
      if (option->get_positional() ||
          std::ranges::find(option->results(), "") == option->results().end()) {
        continue;
      }
      return told(&app, option->get_name() + " is empty: give a value, or leave the option out");
    }
  }
  return "";
}

}  // namespace urxe
