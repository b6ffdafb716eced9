// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace urxe::analyze {
namespace {

using Failure = Unexpected<std::string>;

Failure failed(std::string_view what, const std::string& path) {
  return Failure(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

Failure exists(const std::string& path) {
  return Failure(
      fmt::format("{} exists; it is left as it is: remove it or name another file", path));
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

/// Also if the file system cannot refuse to replace (EINVAL): then it looks first.
int rename_to_new(const std::string& from, const std::string& to) {
  const int result = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
  if (result == 0 || (errno != EINVAL && errno != ENOSYS)) return result;
  struct stat status {};
  if (lstat(to.c_str(), &status) == 0) {
    errno = EEXIST;
    return -1;
  }
  return rename(from.c_str(), to.c_str());
}

}  // namespace

Expected<void, std::string> check_new_file(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0) return exists(path);
  if (errno != ENOENT || path.empty() || path.back() == '/') return failed("write", path);
  if (access(folder_of(path).c_str(), W_OK | X_OK) != 0) return failed("write", path);
  return {};
}

Expected<void, std::string> write_new_file(const std::string& path, std::string_view text) {
  const std::string draft = fmt::format("{}.{}.part", path, getpid());
  const int fd = open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) return failed("create", draft);
  bool written = write_all(fd, text);
  // Some file systems find out only now that there is no room.
  if (close(fd) != 0) written = false;
  if (written && rename_to_new(draft, path) == 0) return {};
  const Failure failure = written && errno == EEXIST ? exists(path) : failed("write", path);
  unlink(draft.c_str());
  return failure;
}

}  // namespace urxe::analyze
