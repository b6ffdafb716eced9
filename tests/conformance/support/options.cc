// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/options.h"

#include <charconv>
#include <string_view>

namespace conformance {
namespace {

Options chosen;

bool to_number(std::string_view text, int& value) {
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  return wrong == std::errc{} && end == text.data() + text.size();
}

std::string take_value(std::string_view name, std::string_view value) {
  int number = 0;
  if (name == "--device") {
    chosen.device = value;
  } else if (!to_number(value, number) || number < 0 || number > 255) {
    return std::string(name) + ": not a number from 0 to 255: " + std::string(value);
  } else if (name == "--port") {
    chosen.port = static_cast<uint8_t>(number);
  } else {
    chosen.gid_index = number;
  }
  return {};
}

}  // namespace

const Options& options() {
  return chosen;
}

std::string parse_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--require-all") {
      chosen.require_all = true;
    } else if (name == "--slow") {
      chosen.slow = true;
    } else if (name == "--device" || name == "--port" || name == "--gid-index") {
      if (++i == argc) return std::string(name) + " needs a value";
      if (std::string wrong = take_value(name, argv[i]); !wrong.empty()) return wrong;
    } else {
      return "unknown argument: " + std::string(name);
    }
  }
  return {};
}

}  // namespace conformance
