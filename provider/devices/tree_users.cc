// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_users.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// How often, and how soon, a process without an environment is asked again.
constexpr int kTries = 100;
constexpr std::chrono::milliseconds kPause{1};

std::string read_environment(const fs::path& process) {
  std::ifstream file(process / "environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether a program runs in the process: not in threads of the kernel, nor in those that ended.
bool runs_program(const fs::path& process) {
  std::error_code failed;
  return !fs::read_symlink(process / "exe", failed).empty();
}

/// The environment of the process whose directory of /proc it is. For the moment that execve(2)
/// takes, the process seems to have none.
std::string environment_of(const fs::path& process) {
  std::string environment = read_environment(process);
  for (int i = 0; environment.empty() && runs_program(process) && i < kTries; ++i) {
    std::this_thread::sleep_for(kPause);
    environment = read_environment(process);
  }
  return environment;
}

}  // namespace

bool is_in_use(const std::string& tree) {
  const std::string assignment = "URXE_TREE=" + tree;
  std::error_code failed;
  fs::directory_iterator at("/proc", failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    if (environment_of(at->path()).find(assignment) != std::string::npos) return true;
  }
  return static_cast<bool>(failed);  // cannot tell: keep it
}

}  // namespace urxe
