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
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
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

/// `get`: getsockname() or getpeername(). `path` may be an abstract name.
bool has_name(int fd, int (*get)(int, sockaddr*, socklen_t*), const std::string& path) {
  sockaddr_un name{};
  socklen_t size = sizeof name;
  if (get(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0 || name.sun_family != AF_UNIX ||
      size <= offsetof(sockaddr_un, sun_path)) {
    return false;
  }
  const size_t start = name.sun_path[0] == '\0' ? 1 : 0;
  const char* const text = name.sun_path + start;
  return path == std::string(text, strnlen(text, sizeof name.sun_path - start));
}

bool listens_at(int fd, const std::string& path) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0 &&
         has_name(fd, getsockname, path);
}

/// The memory of memifs, as DPDK names it.
bool is_memif_region(int fd) {
  std::error_code error;
  const auto file = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  return file.native().starts_with("/memfd:memif_region_");
}

/// Calls `use(fd)` with each descriptor of the process.
template <class Use>
void for_each_descriptor(Use use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc/self/fd"), closedir);
  if (open == nullptr) return;
  while (const dirent* const entry = readdir(open.get())) {
    if (entry->d_name[0] != '.') use(std::atoi(entry->d_name));
  }
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
  if (!silent) return;
  for_each_descriptor([&](int fd) {
    if (listens_at(fd, path)) dup3(silent.get(), fd, O_CLOEXEC);
  });
}

void close_memif_on_exec(const std::string& path) try {
  if (path.empty()) return;
  for_each_descriptor([&](int fd) {
    const bool is_memifs =
        has_name(fd, getsockname, path) || has_name(fd, getpeername, path) || is_memif_region(fd);
    if (is_memifs) fcntl(fd, F_SETFD, FD_CLOEXEC);
  });
} catch (const std::bad_alloc&) {
  // They stay open, as DPDK has left them.
}

}  // namespace urxe
