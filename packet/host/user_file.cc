// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/user_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace urxe {
namespace {

bool is_ours_alone(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         (status.st_mode & 0077) == 0 && status.st_nlink == 1;
}

}  // namespace

std::optional<uint64_t> network_namespace_number() {
  struct stat status {};
  if (stat("/proc/thread-self/ns/net", &status) != 0) return std::nullopt;
  return status.st_ino;
}

Expected<FileDescriptor, Errno> open_own_file(const std::string& path) {
  FileDescriptor fd(
      open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (!fd) return error(errno);
  if (!is_ours_alone(fd.get())) return error(EACCES);
  return fd;
}

bool try_user_files(uint64_t network_namespace, const std::string& name,
                    const std::function<bool(const std::string& path)>& use) {
  const std::string file =
      "/urxe-" + std::to_string(geteuid()) + "-" + std::to_string(network_namespace) + "-" + name;
  // The directory that does not depend on the environment comes first, so that the processes of a
  // login session and those of a service meet in one file.
  if (use("/dev/shm" + file)) return true;
  const char* const runtime = secure_getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/' && use(runtime + file)) return true;
  return use("/tmp" + file);
}

}  // namespace urxe
