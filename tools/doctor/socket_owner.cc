// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/socket_owner.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace urxe::doctor {
namespace {

namespace fs = std::filesystem;

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// The inode of "socket:[1234]".
std::optional<uint64_t> inode_of(std::string_view link) {
  constexpr std::string_view kStart = "socket:[";
  if (!link.starts_with(kStart) || !link.ends_with("]")) return std::nullopt;
  return parse_number(link.substr(kStart.size(), link.size() - kStart.size() - 1));
}

bool maps_provider(const fs::path& process) {
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/liburxe-rdmav") != std::string::npos) return true;
  }
  return false;
}

SocketOwner describe(const fs::path& process, uint64_t pid) {
  SocketOwner owner{static_cast<pid_t>(pid), "", maps_provider(process)};
  std::ifstream comm(process / "comm");
  std::getline(comm, owner.name);
  return owner;
}

/// A process may end, or close what it has, at any time: then it has nothing.
void look_at(const fs::path& process, uint64_t pid, const std::set<uint64_t>& inodes,
             std::map<uint64_t, SocketOwner>& owners) {
  std::error_code failed;
  fs::directory_iterator descriptors(process / "fd", failed);
  for (; !failed && descriptors != fs::directory_iterator(); descriptors.increment(failed)) {
    std::error_code gone;
    const auto inode = inode_of(fs::read_symlink(descriptors->path(), gone).string());
    if (gone || !inode || !inodes.contains(*inode)) continue;
    owners.try_emplace(*inode, describe(process, pid));
  }
}

}  // namespace

std::map<uint64_t, SocketOwner> find_socket_owners(const std::set<uint64_t>& inodes) {
  std::map<uint64_t, SocketOwner> owners;
  if (inodes.empty()) return owners;
  std::error_code failed;
  fs::directory_iterator processes("/proc", failed);
  for (; !failed && processes != fs::directory_iterator(); processes.increment(failed)) {
    const auto pid = parse_number(processes->path().filename().string());
    if (pid) look_at(processes->path(), *pid, inodes, owners);
  }
  return owners;
}

}  // namespace urxe::doctor
