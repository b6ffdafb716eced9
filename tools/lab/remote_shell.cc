// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/remote_shell.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "tools/lab/enter.h"

namespace urxe::lab {
namespace {

constexpr int kSshFailed = 255;
/// The options of ssh(1) that have a value.
constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOoPpQRSWw";

/// Whether the value of the options in the word is the next word: "-p 22", and not "-p22".
bool takes_next(std::string_view options) {
  const size_t at = options.find_first_of(kWithValue);
  return at != std::string_view::npos && at + 1 == options.size();
}

}  // namespace

Expected<RemoteCommand, std::string> parse_remote_command(
    const std::vector<std::string>& arguments) {
  RemoteCommand remote;
  size_t i = 0;
  bool options_end = false;
  for (; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (!options_end && word == "--") {
      options_end = true;
    } else if (!options_end && word.size() > 1 && word[0] == '-') {
      if (takes_next(word.substr(1))) ++i;
    } else if (remote.host.empty()) {
      remote.host = word.substr(word.find('@') + 1);
    } else {
      break;
    }
  }
  if (remote.host.empty()) return Unexpected<std::string>("no node given");
  for (; i < arguments.size(); ++i) {
    remote.command += (remote.command.empty() ? "" : " ") + arguments[i];
  }
  return remote;
}

int remote_shell(const std::vector<std::string>& arguments) {
  const auto remote = parse_remote_command(arguments);
  if (!remote) {
    fmt::print(stderr, "urxe lab: ssh: {}\n", remote.error());
    return kSshFailed;
  }
  if (!remote->command.empty()) {
    exec_in_node(remote->host, {"/bin/sh", "-c", remote->command});
  } else {
    const char* const shell = std::getenv("SHELL");
    exec_in_node(remote->host, {shell != nullptr && *shell != '\0' ? shell : "/bin/sh"});
  }
  return kSshFailed;
}

}  // namespace urxe::lab
