// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/env_arguments.h"

#include <algorithm>
#include <sstream>
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

struct Reading {
  bool clears = false;
  bool preloads = false;  ///< sets LD_PRELOAD
  size_t program_at = 0;
};

Reading read_arguments(const std::vector<std::string>& arguments) {
  Reading read;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with('-'); ++at) {
    if (arguments[at] == "--") {
      ++at;
      break;
    }
    const Word word = read_option(arguments[at]);
    read.clears = read.clears || word.clears;
    if (word.takes_next) ++at;
  }
  for (; at < arguments.size() && arguments[at].find('=') != std::string::npos; ++at) {
    read.preloads = read.preloads || arguments[at].starts_with("LD_PRELOAD=");
  }
  read.program_at = std::min(at, arguments.size());
  return read;
}

/// What a word with `-S` says beside it: "-vSi" says "-v" and "i". Empty: it has none.
std::vector<std::string> take_split(const std::string& word) {
  constexpr std::string_view kLong = "--split-string";
  if (word.starts_with(kLong)) return {"-", word.substr(std::min(kLong.size() + 1, word.size()))};
  const size_t at = word.find_first_of(kValued);
  if (!word.starts_with('-') || word.starts_with("--") || at == std::string::npos ||
      word[at] != 'S') {
    return {};
  }
  return {word.substr(0, at), word.substr(at + 1)};
}

}  // namespace

size_t env_program_at(const std::vector<std::string>& arguments) {
  return read_arguments(arguments).program_at;
}

std::vector<std::string> env_arguments_of(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word)) return {};
  std::vector<std::string> arguments;
  const std::vector<std::string> split = take_split(word);
  if (split.empty()) {
    arguments.push_back(word);
  } else {
    if (split[0] != "-") arguments.push_back(split[0]);
    if (!split[1].empty()) arguments.push_back(split[1]);
  }
  while (words >> word) arguments.push_back(word);
  return arguments;
}

bool env_clears(const std::vector<std::string>& arguments) {
  const Reading read = read_arguments(arguments);
  return read.clears && !read.preloads && read.program_at < arguments.size();
}

}  // namespace urxe::doctor
