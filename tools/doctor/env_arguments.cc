// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/env_arguments.h"

#include <string_view>

namespace urxe::doctor {
namespace {

/// Letters of options that take a value: the rest of the word, or the next word.
constexpr std::string_view kValued = "uCSP";

struct Word {
  bool clears = false;
  bool takes_next = false;
};

Word read_option(std::string_view word) {
  if (word == "-") return {true, false};
  if (word.starts_with("--")) {
    const bool is_valued = word == "--unset" || word == "--chdir" || word == "--split-string";
    return {word == "--ignore-environment", is_valued};
  }
  Word read;
  for (size_t i = 1; i < word.size(); ++i) {
    if (word[i] == 'i') read.clears = true;
    if (kValued.find(word[i]) == std::string_view::npos) continue;
    read.takes_next = i + 1 == word.size();
    break;
  }
  return read;
}

}  // namespace

bool env_clears(const std::vector<std::string>& arguments) {
  bool clears = false;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with('-'); ++at) {
    if (arguments[at] == "--") {
      ++at;
      break;
    }
    const Word word = read_option(arguments[at]);
    clears = clears || word.clears;
    if (word.takes_next) ++at;
  }
  for (; at < arguments.size() && arguments[at].find('=') != std::string::npos; ++at) {
    if (arguments[at].starts_with("LD_PRELOAD=")) return false;
  }
  return clears && at < arguments.size();
}

}  // namespace urxe::doctor
