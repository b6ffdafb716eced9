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
#include <utility>

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
  std::filesystem::directory_iterator at("/proc", failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    if (const pid_t pid = number_of(at->path().filename()); pid > 0) found.push_back(pid);
  }
  std::ranges::sort(found);
  return found;
}

/// Whether this process is in the namespace.
bool is_own(const FileDescriptor& file, const char* kind) {
  struct stat own {};
  struct stat other {};
  return stat((std::string("/proc/self/ns/") + kind).c_str(), &own) == 0 &&
         fstat(file.get(), &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/// The directory of the process: it stays this one's when another process gets the number.
FileDescriptor open_process(pid_t pid) {
  FileDescriptor file(
      open(fmt::format("/proc/{}", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat facts {};
  // The number may already be that of another user's process.
  if (file && (fstat(file.get(), &facts) != 0 || facts.st_uid != geteuid())) {
    file.reset();
    errno = ESRCH;
  }
  return file;
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
  const FileDescriptor process = open_process(member);
  if (!process) return system_failure("cannot enter the lab");
  if (unshare(CLONE_FS) != 0) return system_failure("unshare(CLONE_FS)");
  // All are opened first: the last one takes away the path of the others.
  std::vector<std::pair<const char*, FileDescriptor>> namespaces;
  for (const char* kind : {"user", "pid", "mnt"}) {
    const std::string path = std::string("ns/") + kind;
    FileDescriptor file(openat(process.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return system_failure("cannot enter the lab: its " + path);
    // The kernel refuses to enter the user namespace that a process is in: root's labs have none.
    if (!is_own(file, kind)) namespaces.emplace_back(kind, std::move(file));
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
