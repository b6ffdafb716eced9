// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/running_labs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "packet/host/file_descriptor.h"

namespace urxe::lab {
namespace {

/// Processes between a program in a lab and its `urxe lab`, at most.
constexpr int kMostAncestors = 100;

std::string file_of(pid_t pid, const char* name) {
  return fmt::format("/proc/{}/{}", pid, name);
}

/// What identifies the namespace; empty: the process is another user's, or has ended.
std::string namespace_of(const std::string& process, const char* kind) {
  std::error_code failed;
  return std::filesystem::read_symlink(process + "/ns/" + kind, failed).string();
}

bool is_ours(pid_t pid) {
  struct stat facts {};
  return stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0 && facts.st_uid == geteuid();
}

/// 0: it has ended.
pid_t parent_of(pid_t pid) {
  std::ifstream file(file_of(pid, "status"));
  constexpr std::string_view kField = "PPid:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kField))
      return static_cast<pid_t>(std::atoi(line.c_str() + kField.size()));
  }
  return 0;
}

/// The value of the variable when the program was started.
std::string variable_of(const std::string& environment, const std::string& name) {
  const std::string begin = name + "=";
  for (size_t at = 0; at < environment.size();) {
    const size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry(environment.data() + at, end - at);
    if (entry.starts_with(begin)) return std::string(entry.substr(begin.size()));
    at = end + 1;
  }
  return "";
}

std::vector<HeldNode> nodes_of(pid_t pid) {
  std::ifstream file(file_of(pid, "environ"), std::ios::binary);
  const std::string environment{std::istreambuf_iterator<char>(file), {}};
  return parse_nodes(variable_of(environment, kNodesVariable),
                     variable_of(environment, kHoldersVariable));
}

/// The nearest ancestor in this PID namespace; 0: there is none.
pid_t keeper_of(pid_t member, const std::string& here) {
  pid_t pid = parent_of(member);
  for (int i = 0; pid > 0 && i < kMostAncestors; ++i) {
    if (namespace_of(fmt::format("/proc/{}", pid), "pid") == here) return pid;
    pid = parent_of(pid);
  }
  return 0;
}

/// 0: the name is not a process's.
pid_t number_of(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? pid : 0;
}

std::vector<pid_t> processes() {
  std::vector<pid_t> found;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    if (const pid_t pid = number_of(entry.path().filename()); pid > 0) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::vector<RunningLab> running_labs() {
  std::vector<RunningLab> labs;
  const std::string here = namespace_of("/proc/self", "pid");
  for (const pid_t pid : processes()) {
    if (!is_ours(pid)) continue;
    const std::string there = namespace_of(fmt::format("/proc/{}", pid), "pid");
    if (there.empty() || there == here) continue;
    const std::vector<HeldNode> nodes = nodes_of(pid);
    const pid_t keeper = nodes.empty() ? 0 : keeper_of(pid, here);
    if (keeper != 0 && std::ranges::find(labs, keeper, &RunningLab::keeper) == labs.end()) {
      labs.push_back({keeper, pid, nodes});
    }
  }
  return labs;
}

Done enter_lab(pid_t member) {
  std::error_code failed;
  const auto directory = std::filesystem::current_path(failed);
  const std::string process = fmt::format("/proc/{}", member);
  const bool has_own_user = namespace_of(process, "user") != namespace_of("/proc/self", "user");
  if (unshare(CLONE_FS) != 0) return system_failure("unshare(CLONE_FS)");
  // All are opened first: the last one takes away the path of the others.
  std::vector<std::pair<const char*, FileDescriptor>> namespaces;
  for (const char* kind : {"user", "pid", "mnt"}) {
    if (std::string_view(kind) == "user" && !has_own_user) continue;
    const std::string path = process + "/ns/" + kind;
    namespaces.emplace_back(kind, FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)));
    if (!namespaces.back().second) return system_failure("cannot enter the lab: " + path);
  }
  for (const auto& [kind, file] : namespaces) {
    if (setns(file.get(), 0) != 0) {
      return system_failure(fmt::format("cannot enter the lab's {} namespace", kind));
    }
  }
  if (chdir(directory.c_str()) != 0 && chdir("/") != 0) return system_failure("chdir()");
  return {};
}

}  // namespace urxe::lab
