// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/tree_users.h"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "packet/host/read_file.h"

namespace urxe {
namespace {

namespace fs = std::filesystem;

/// So often a call waits in all, for processes within execve(2), and so long each time.
constexpr int kPauses = 500;
constexpr std::chrono::milliseconds kPause{1};

enum class Use { kNo, kYes, kUnknown };

std::string read_environment(const fs::path& process) {
  return read_file(process / "environ").value_or("");
}

/// Whether a program runs in the process: not in threads of the kernel, nor in those that ended.
bool runs_program(const fs::path& process) {
  std::error_code failed;
  return !fs::read_symlink(process / "exe", failed).empty();
}

uint64_t skip_and_read(std::istream& fields, int skipped) {
  std::string field;
  for (int i = 0; i < skipped; ++i) fields >> field;
  uint64_t value = 0;
  fields >> value;
  return value;
}

/// Whether the process was started without an environment. While it is within execve(2) it seems to
/// have none, but then of the fields of proc(5)'s stat the addresses of the environment, 50 and 51,
/// are 0; or they are equal, and the end of its code, 27, which the kernel sets later, is 0.
bool has_no_environment(const fs::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");  // the name may have spaces
  if (name_end == std::string::npos) return true;
  std::istringstream fields(text.substr(name_end + 2));
  const uint64_t code_end = skip_and_read(fields, 24);  // the first is field 3
  const uint64_t start = skip_and_read(fields, 22);
  const uint64_t end = skip_and_read(fields, 0);
  return code_end != 0 && start != 0 && start == end;
}

/// Waits if the process is within execve(2), and takes that from `pauses`.
Use use_by(const fs::path& process, const std::string& assignment, int& pauses) {
  std::string environment = read_environment(process);
  while (environment.empty() && runs_program(process) && !has_no_environment(process)) {
    if (pauses-- <= 0) return Use::kUnknown;
    std::this_thread::sleep_for(kPause);
    environment = read_environment(process);
  }
  return environment.find(assignment) != std::string::npos ? Use::kYes : Use::kNo;
}

/// Adds those that a mount keeps: in mountinfo the root of such a mount is "net:[NUMBER]". False:
/// it cannot be read.
bool add_mounted(std::set<uint64_t>& numbers) {
  constexpr std::string_view kRoot = " net:[";
  std::ifstream mounts("/proc/self/mountinfo");
  std::string line;
  while (std::getline(mounts, line)) {
    const size_t at = line.find(kRoot);
    if (at == std::string::npos) continue;
    numbers.insert(std::strtoull(line.c_str() + at + kRoot.size(), nullptr, 10));
  }
  return mounts.eof();
}

}  // namespace

bool is_in_use(const std::string& tree) {
  const std::string assignment = "URXE_TREE=" + tree;
  int pauses = kPauses;
  std::error_code failed;
  fs::directory_iterator at("/proc", failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    if (use_by(at->path(), assignment, pauses) != Use::kNo) return true;
  }
  return static_cast<bool>(failed);
}

std::optional<std::set<uint64_t>> living_network_namespaces() {
  std::set<uint64_t> numbers;
  if (!add_mounted(numbers)) return std::nullopt;
  std::error_code failed;
  fs::directory_iterator at("/proc", failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    struct stat status {};
    if (stat((at->path() / "ns/net").c_str(), &status) == 0) numbers.insert(status.st_ino);
  }
  if (failed) return std::nullopt;
  return numbers;
}

}  // namespace urxe
