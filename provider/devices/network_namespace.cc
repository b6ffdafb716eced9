// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/network_namespace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "packet/host/network_identity.h"
#include "packet/host/read_file.h"

namespace urxe {
namespace {

Unexpected<std::string> failed(const std::string& what, int errno_value) {
  return Unexpected<std::string>(what + ": " + std::strerror(errno_value));
}

/// Empty if the system does not tell.
Expected<std::string, Errno> read_boot_id() {
  auto id = read_file("/proc/sys/kernel/random/boot_id");
  if (!id && is_not_offered(id.error().value)) return std::string();
  if (id) id->resize(std::min(id->size(), id->find_first_of(" \n")));
  return id;
}

}  // namespace

Expected<NetworkNamespace, std::string> current_network_namespace() {
  struct stat status {};
  if (stat("/proc/self/ns/net", &status) != 0) {
    return failed("/proc/self/ns/net", errno);
  }
  std::error_code unread;
  auto pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", unread);
  if (unread) return Unexpected<std::string>("/proc/self/ns/pid: " + unread.message());
  const auto boot_id = read_boot_id();
  if (!boot_id) return failed("/proc/sys/kernel/random/boot_id", boot_id.error().value);
  const auto cookie = network_cookie();
  if (!cookie) return failed("the network namespace", cookie.error().value);
  return NetworkNamespace{status.st_ino, fmt::format("{} {}", *boot_id, *cookie),
                          pid_namespace.string()};
}

}  // namespace urxe
