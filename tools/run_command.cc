// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/doctor/obstacle.h"
#include "tools/presentation.h"

namespace urxe {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

/// Whether a directory of PATH has the program. execvp() also fails with EACCES if it only could
/// not search one of them.
bool is_in_path(const std::string& program) {
  const char* const value = std::getenv("PATH");
  const std::string path = value != nullptr ? value : "/bin:/usr/bin";  // as execvp(3)
  for (size_t start = 0; start <= path.size();) {
    size_t end = std::min(path.find(':', start), path.size());
    if (access((std::filesystem::path(path.substr(start, end - start)) / program).c_str(), F_OK) ==
        0)
      return true;
    start = end + 1;
  }
  return false;
}

/// Debian has programs for administrators in directories that an ordinary user's PATH leaves out.
std::string found_elsewhere(const std::string& program) {
  for (const std::filesystem::path folder : {"/usr/local/sbin", "/usr/sbin", "/sbin"}) {
    std::error_code error;
    const bool is_file = std::filesystem::is_regular_file(folder / program, error);
    if (!is_file || access((folder / program).c_str(), X_OK) != 0) continue;
    return fmt::format(" (it is in {}, which is not in PATH)", folder.string());
  }
  return "";
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  int error = errno;
  bool searched = command[0].find('/') == std::string::npos;
  if (error == EACCES && searched && !is_in_path(command[0])) error = ENOENT;
  const bool is_elsewhere = error == ENOENT && searched;
  fmt::print(stderr, "urxe run: cannot run '{}': {}{}\n", command[0], std::strerror(error),
             is_elsewhere ? found_elsewhere(command[0]) : "");
  return error == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace

int run_command(const RunOptions& options) {
  const auto prepared = prepare_environment(options);
  if (!prepared) {
    fmt::print(stderr, "urxe run: {}\n", prepared.error().reason);
    return prepared.error().status;
  }
  const std::string obstacle =
      doctor::find_obstacle(options.command, library_directory().value_or(""));
  if (!obstacle.empty()) fmt::print(stderr, "urxe run: {}\n", obstacle);
  return become(options.command);
}

}  // namespace urxe
