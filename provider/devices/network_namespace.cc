// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/network_namespace.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace urxe {
namespace {

/// The number of the namespace since the machine started; 0 if the kernel does not tell.
uint64_t read_cookie() {
  uint64_t cookie = 0;
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0) cookie = 0;
  close(fd);
  return cookie;
}

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
  return NetworkNamespace{status.st_ino, fmt::format("{} {}", read_boot_id(), read_cookie()),
                          pid_namespace.string()};
}

}  // namespace urxe
