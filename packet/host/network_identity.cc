// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/network_identity.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "packet/host/file_descriptor.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

namespace urxe {

uint64_t network_cookie() {
  const FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(fd.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

uint64_t network_namespace_number() {
  struct stat status {};
  return stat("/proc/thread-self/ns/net", &status) == 0 ? status.st_ino : 0;
}

std::string machine_identity() {
  const FileDescriptor fd(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[8] = {};
  const ssize_t got = fd ? read(fd.get(), text, sizeof text) : -1;
  return got == sizeof text ? std::string(text, sizeof text) : "0";
}

std::string network_identity() {
  char text[40];
  std::snprintf(text, sizeof text, "-%" PRIu64 "-%" PRIx64, network_namespace_number(),
                network_cookie());
  return machine_identity() + text;
}

}  // namespace urxe
