// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/unix_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>

namespace urxe {
namespace {

constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

/// Cuts the file's name if there is no room.
UnixName make_name(int directory, std::string_view path, std::string_view file) {
  UnixName name;
  name.address.sun_family = AF_UNIX;
  name.directory = directory;
  char* at = std::ranges::copy(path, name.address.sun_path).out;
  *at++ = '/';
  const size_t room = kLongestPath - path.size() - 1;
  at = std::ranges::copy(file.substr(0, room), at).out;
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                     static_cast<size_t>(at - name.address.sun_path) + 1);
  return name;
}

UnixName name_by_descriptor(int directory, std::string_view file) {
  char path[32];
  const int length = std::snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
  return make_name(directory, {path, static_cast<size_t>(length)}, file);
}

std::string_view file_of(const UnixName& name) {
  const std::string_view path = name.path();
  return path.substr(path.rfind('/') + 1);
}

Expected<FileDescriptor, Errno> open_socket(int type) {
  FileDescriptor fd(socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  return fd;
}

Expected<FileDescriptor, Errno> open_bound_socket(const UnixName& name, int type) {
  auto fd = open_socket(type);
  if (!fd) return fd;
  const std::string file(file_of(name));
  if (unlinkat(name.directory, file.c_str(), 0) != 0 && errno != ENOENT) return error(errno);
  int result = bind(fd->get(), name.get(), name.size);
  if (result != 0 && errno == EACCES) {
    const UnixName other = by_descriptor(name);
    result = bind(fd->get(), other.get(), other.size);
  }
  // bind() has applied the umask.
  if (result != 0 || fchmodat(name.directory, file.c_str(), 0666, 0) != 0) return error(errno);
  return fd;
}

}  // namespace

UnixName socket_name(int directory, std::string_view path, std::string_view file) {
  if (path.empty() || path.size() + 1 + file.size() > kLongestPath) {
    return name_by_descriptor(directory, file);
  }
  return make_name(directory, path, file);
}

bool has_file(const UnixName& name) {
  struct stat status {};
  const char* const file = file_of(name).data();  // to the end of the path, which has a NUL
  return fstatat(name.directory, file, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

UnixName by_descriptor(const UnixName& name) {
  return name_by_descriptor(name.directory, file_of(name));
}

Expected<FileDescriptor, Errno> open_unix_socket() {
  return open_socket(SOCK_DGRAM);
}

Expected<FileDescriptor, Errno> open_named_socket(const UnixName& name) {
  return open_bound_socket(name, SOCK_DGRAM);
}

Expected<FileDescriptor, Errno> open_listening_socket(const UnixName& name, int backlog) {
  auto fd = open_bound_socket(name, SOCK_SEQPACKET);
  if (fd && listen(fd->get(), backlog) != 0) return error(errno);
  return fd;
}

Expected<FileDescriptor, Errno> connect_to_socket(const UnixName& name) {
  auto fd = open_socket(SOCK_SEQPACKET);
  if (!fd) return fd;
  int result = connect(fd->get(), name.get(), name.size);
  if (result != 0 && errno == EACCES) {
    const UnixName other = by_descriptor(name);
    result = connect(fd->get(), other.get(), other.size);
  }
  if (result != 0) return error(errno);
  return fd;
}

}  // namespace urxe
