// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/network_namespace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "packet/host/network_identity.h"

namespace urxe {
namespace {

std::string read_boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace

Expected<NetworkNamespace, std::string> current_network_namespace() {
  struct stat status {};
  if (stat("/proc/self/ns/net", &status) != 0) {
    return Unexpected<std::string>(fmt::format("/proc/self/ns/net: {}", std::strerror(errno)));
  }
  std::error_code failed;
  auto pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", failed);
  if (failed) return Unexpected<std::string>("/proc/self/ns/pid: " + failed.message());
  return NetworkNamespace{status.st_ino, fmt::format("{} {}", read_boot_id(), network_cookie()),
                          pid_namespace.string()};
}

}  // namespace urxe
