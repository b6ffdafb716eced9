// SPDX-License-Identifier: BSD-2-Clause
#include "tools/env_command.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace urxe {
namespace {

/// In single quotes if a shell would not take it as one word.
std::string quoted(const std::string& value) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (value.find_first_not_of(kPlain) == std::string::npos) return value;
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

int env_command(const RunOptions& options) {
  const auto prepared = prepare_environment(options);
  if (!prepared) {
    fmt::print(stderr, "urxe env: {}\n", prepared.error().reason);
    return prepared.error().status;
  }
  for (const auto& [name, value] : read_environment()) fmt::print("{}={}\n", name, quoted(value));
  return 0;
}

}  // namespace urxe
