// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/network_identity.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "packet/host/file_descriptor.h"
#include "packet/host/read_file.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace urxe {
namespace {

constexpr const char* kNamespaceFile = "/proc/thread-self/ns/net";

/// `none` if the system does not tell.
template <class Value>
Expected<Value, Errno> not_told(int errno_value, Value none) {
  if (is_not_offered(errno_value)) return none;
  return error(errno_value);
}

Expected<std::string, Errno> machine() {
  constexpr size_t kLength = 8;
  auto boot_id = read_file("/proc/sys/kernel/random/boot_id");
  if (!boot_id) return not_told<std::string>(boot_id.error().value, "0");
  return boot_id->size() >= kLength ? boot_id->substr(0, kLength) : "0";
}

}  // namespace

bool is_not_offered(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case EPERM:
    case ENOSYS:
    case ENOPROTOOPT:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
      return true;
    default:
      return false;
  }
}

Expected<uint64_t, Errno> network_cookie() {
  const FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (fd && getsockopt(fd.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0) return cookie;
  return not_told<uint64_t>(errno, 0);
}

uint64_t network_namespace_number() {
  struct stat status {};
  return stat(kNamespaceFile, &status) == 0 ? status.st_ino : 0;
}

std::string machine_identity() {
  return machine().value_or("0");
}

Expected<std::string, Errno> network_identity() {
  const auto name = machine();
  if (!name) return error(name.error().value);
  const auto cookie = network_cookie();
  if (!cookie) return error(cookie.error().value);
  struct stat status {};
  if (stat(kNamespaceFile, &status) != 0 && !is_not_offered(errno)) return error(errno);
  char text[40];
  std::snprintf(text, sizeof text, "-%" PRIu64 "-%" PRIx64, static_cast<uint64_t>(status.st_ino),
                *cookie);
  return *name + text;
}

}  // namespace urxe
