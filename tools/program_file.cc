// SPDX-License-Identifier: BSD-2-Clause
#include "tools/program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "tools/doctor/env_arguments.h"

namespace urxe {
namespace {

/// As many interpreters as the kernel follows.
constexpr int kMostInterpreters = 5;

/// Where execvp(3) looks without PATH.
constexpr const char* kDefaultPath = "/bin:/usr/bin";

/// The first line of a script.
struct FirstLine {
  std::string interpreter;  ///< empty: it is no script
  std::string rest;
};

FirstLine first_line_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  std::ifstream script(path, std::ios::binary);
  char start[2] = {};
  if (!script.read(start, sizeof start) || start[0] != '#' || start[1] != '!') return {};
  std::string text;
  std::getline(script, text);
  std::istringstream words(text);
  FirstLine line;
  words >> line.interpreter;
  std::getline(words, line.rest);
  return line;
}

bool is_env(const FirstLine& line) {
  return line.interpreter.ends_with("/env");
}

/// What the script's first line names: for "#!/usr/bin/env python3" python3, as env does. Empty: it
/// is no script.
std::string interpreter_of(const std::string& path) {
  const FirstLine line = first_line_of(path);
  if (!is_env(line)) return line.interpreter;
  const std::vector<std::string> arguments = doctor::env_arguments_of(line.rest);
  const size_t at = doctor::env_program_at(arguments);
  return at < arguments.size() ? resolve_program(arguments[at]) : line.interpreter;
}

}  // namespace

std::string resolve_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* const given = std::getenv("PATH");
  const std::string path = given != nullptr ? given : kDefaultPath;
  for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = path.find(':', begin);
    const std::string directory = path.substr(begin, end - begin);
    std::string candidate = (directory.empty() ? "." : directory) + "/" + program;
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(candidate, error);
    if (is_file && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return program;
}

std::string executed_file(const std::string& program) {
  std::string path = resolve_program(program);
  for (int i = 0; i < kMostInterpreters; ++i) {
    const std::string interpreter = interpreter_of(path);
    if (interpreter.empty()) return path;
    path = interpreter;
  }
  return path;
}

bool env_clears_for(const std::string& program) {
  const FirstLine line = first_line_of(resolve_program(program));
  return is_env(line) && doctor::env_clears(doctor::env_arguments_of(line.rest));
}

}  // namespace urxe
