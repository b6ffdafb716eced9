// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/memif_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "packet/base/engine_error.h"
#include "packet/engine/dpdk/plugin/device_lock.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/network_identity.h"

namespace urxe {
namespace {

/// Which process listens at the socket; empty: none.
std::string find_listener(const std::string& path) {
  const FileDescriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.c_str(), path.size());
  if (!fd) return "another process";
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return errno == ECONNREFUSED ? "" : "another process";
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid == 0) {
    return "another process";
  }
  return "process " + std::to_string(peer.pid);
}

bool listens_at(int fd, const std::string& path) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) return false;
  sockaddr_un name{};
  size = sizeof name;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0 &&
         name.sun_family == AF_UNIX && size > offsetof(sockaddr_un, sun_path) &&
         path == std::string(name.sun_path, strnlen(name.sun_path, sizeof name.sun_path));
}

}  // namespace

std::string default_memif_socket() {
  return user_file("memif", network_identity().value_or("0"));
}

Expected<void, EngineError> clear_memif_socket(const std::string& path) {
  const std::string what = "the memif socket " + path;
  if (path.size() >= sizeof sockaddr_un::sun_path)
    return engine_failure(ENAMETOOLONG, what + ": its path is too long");
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return engine_failure(errno, what + " cannot be looked at: " + std::strerror(errno));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return engine_failure(EEXIST,
                          what +
                              ": there is something else with that name; remove it, or choose "
                              "another path");
  }
  const std::string listener = find_listener(path);
  if (!listener.empty()) return engine_failure(EADDRINUSE, what + " is in use by " + listener);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return engine_failure(
        errno, what + ", which a process that has ended left behind, cannot be removed: " +
                   std::strerror(errno));
  }
  return {};
}

void silence_memif_listener(const std::string& path) {
  const FileDescriptor silent(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc/self/fd"), closedir);
  if (!silent || open == nullptr) return;
  while (const dirent* const entry = readdir(open.get())) {
    if (entry->d_name[0] == '.') continue;
    const int fd = std::atoi(entry->d_name);
    if (listens_at(fd, path)) dup3(silent.get(), fd, O_CLOEXEC);
  }
}

}  // namespace urxe
