// SPDX-License-Identifier: BSD-2-Clause
#include "tools/program_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace urxe {
namespace {

/// As many interpreters as the kernel follows.
constexpr int kMostInterpreters = 5;

/// What the script's first line names: for "#!/usr/bin/env python3" python3, as env does. Empty: it
/// is no script.
std::string interpreter_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::ifstream script(path, std::ios::binary);
  char start[2] = {};
  if (!script.read(start, sizeof start) || start[0] != '#' || start[1] != '!') return "";
  std::string line;
  std::getline(script, line);
  std::istringstream words(line);
  std::string interpreter;
  words >> interpreter;
  if (!interpreter.ends_with("/env")) return interpreter;
  std::string word;
  while (words >> word) {
    if (!word.starts_with('-') && word.find('=') == std::string::npos) return resolve_program(word);
  }
  return interpreter;
}

}  // namespace

std::string resolve_program(const std::string& program) {
  const char* path = std::getenv("PATH");
  if (program.find('/') != std::string::npos || path == nullptr) return program;
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = (directory.empty() ? "." : directory) + "/" + program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
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

}  // namespace urxe
