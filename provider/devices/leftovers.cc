// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/leftovers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace urxe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDraft = ".tmp-";
constexpr std::string_view kDeviceLock = "dpdk-";
constexpr std::string_view kMemifSocket = "memif-";
constexpr int kAttempts = 100;
/// bind(2) makes the file of a socket some microseconds before it is the socket's.
constexpr time_t kBoundWithin = 10;

bool is_current(int fd, const std::string& path) {
  struct stat ours {};
  struct stat found {};
  return fstat(fd, &ours) == 0 && lstat(path.c_str(), &found) == 0 && ours.st_ino == found.st_ino &&
         ours.st_dev == found.st_dev;
}

/// Locks the file if nobody has, and it still has the path.
FileDescriptor lock_abandoned(const std::string& path, int flags) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags));
  if (!fd || flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || !is_current(fd.get(), path)) return {};
  return fd;
}

void remove_draft(const std::string& path) {
  const FileDescriptor locked = lock_abandoned(path, O_DIRECTORY);
  std::error_code ignored;
  if (locked) fs::remove_all(path, ignored);
}

void remove_device_lock(const std::string& path) {
  const FileDescriptor locked = lock_abandoned(path, 0);
  struct stat facts {};
  if (locked && fstat(locked.get(), &facts) == 0 && S_ISREG(facts.st_mode)) unlink(path.c_str());
}

/// A socket of another kind is never connected: EPROTOTYPE tells that there is one.
bool is_dead_socket(const std::string& path) {
  const FileDescriptor fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (!fd || path.size() >= sizeof name.sun_path) return false;
  path.copy(name.sun_path, path.size());
  return connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 &&
         errno == ECONNREFUSED;
}

/// A process may bind the name anew at this moment. So the socket is moved away before it is
/// removed, and looked at again.
void remove_memif_socket(const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) return;
  if (time(nullptr) - facts.st_mtime < kBoundWithin || !is_dead_socket(path)) return;
  const std::string away = path + ".away";
  if (rename(path.c_str(), away.c_str()) != 0) return;
  const bool is_living = !is_dead_socket(away);
  if (is_living) renameat2(AT_FDCWD, away.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE);
  unlink(away.c_str());
}

}  // namespace

// Whoever removes leftovers may be first with the lock, and removes what is then nobody's draft.
bool Draft::lock() {
  fd_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd_) return errno != ENOENT;
  if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  return is_current(fd_.get(), path_);
}

Draft::Draft(const std::string& directory) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    path_ = directory + "/" + std::string(kDraft) + "XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) break;
    if (lock()) return;
    errno = EBUSY;
  }
  path_.clear();
}

void remove_leftovers(const std::string& directory) {
  std::error_code failed;
  fs::directory_iterator at(directory, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    const std::string path = at->path().string();
    const std::string name = at->path().filename().string();
    if (name.starts_with(kDraft) && !name.starts_with(kDamagedTree)) remove_draft(path);
    if (name.starts_with(kDeviceLock)) remove_device_lock(path);
    if (name.starts_with(kMemifSocket)) remove_memif_socket(path);
  }
}

}  // namespace urxe
