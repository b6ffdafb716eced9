// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/files/cm_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>

namespace urxe {
namespace {

/// Fills the smallest buffer that the kernel allows with a few bytes that are never read.
void make_unwritable(int fd) {
  const int smallest = 0;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest);
  pollfd poll_fd{fd, POLLOUT, 0};
  constexpr int kMostBytes = 64;
  for (int i = 0; i < kMostBytes && poll(&poll_fd, 1, 0) == 1; ++i) {
    if (send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) return;
  }
}

bool set_flags(int fd, int open_flags) {
  if ((open_flags & O_CLOEXEC) == 0 && fcntl(fd, F_SETFD, 0) != 0) return false;
  return (open_flags & O_NONBLOCK) == 0 || fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/// A descriptor of the same file that no other thread closes; if there is none (EMFILE), the
/// caller's own.
class Borrowed {
 public:
  explicit Borrowed(int fd)
      : copy_(static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0))),
        fd_(copy_ ? copy_.get() : fd) {}
  [[nodiscard]] int get() const { return fd_; }

 private:
  FileDescriptor copy_;
  int fd_;
};

}  // namespace

ino_t CmFile::socket_inode(int fd) {
  const int saved_errno = errno;
  struct stat status {};
  const bool is_socket = syscall(SYS_fstat, fd, &status) == 0 && S_ISSOCK(status.st_mode);
  errno = saved_errno;
  return is_socket ? status.st_ino : 0;
}

Expected<std::shared_ptr<CmFile>, Errno> CmFile::create(int open_flags, int* application_fd) {
  int fds[2];
  // A stream wakes all its readers, and a byte that one of them peeks at is still there for others.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return error(errno);
  FileDescriptor application(fds[0]);
  FileDescriptor own(fds[1]);
  const ino_t inode = socket_inode(application.get());
  if (inode == 0 || !set_flags(application.get(), open_flags)) return error(ENOMEM);
  make_unwritable(application.get());
  std::shared_ptr<CmFile> made(new (std::nothrow) CmFile(std::move(own), inode));
  if (!made) return error(ENOMEM);
  *application_fd = application.release();
  return made;
}

CmFile::CmFile(FileDescriptor own_fd, ino_t inode) : own_fd_(std::move(own_fd)), inode_(inode) {}

CmFile::~CmFile() = default;

/// False: the socket took no byte, and holds none that the application may read.
bool CmFile::send_token_locked() {
  const ssize_t sent = send(own_fd_.get(), "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  // The application has closed its end; own_fd() reports that.
  if (sent == 1 || errno == EPIPE || errno == ECONNRESET) is_readable_ = true;
  return is_readable_;
}

Expected<void, Errno> CmFile::post(const CmFileEvent& event) {
  std::lock_guard lock(mutex_);
  if (events_.size() >= kMaxWaiting) return error(ENOMEM);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {
    return error(ENOMEM);
  }
  if (send_token_locked()) return {};
  events_.pop_back();
  return error(ENOMEM);
}

std::optional<CmFileEvent> CmFile::take() {
  std::list<CmFileEvent> oldest;
  std::lock_guard lock(mutex_);
  if (events_.empty()) return std::nullopt;
  oldest.splice(oldest.end(), events_, events_.begin());
  return oldest.front();
}

std::list<CmFileEvent> CmFile::take_back(uint32_t owner) {
  return take_back_if([&](const CmFileEvent& event) { return event.owner == owner; });
}

void CmFile::give(std::list<CmFileEvent> events) {
  std::lock_guard lock(mutex_);
  while (!events.empty()) {
    events_.splice(events_.end(), events, events.begin());
    (void)send_token_locked();
  }
}

size_t CmFile::waiting() const {
  std::lock_guard lock(mutex_);
  return events_.size();
}

void CmFile::settle(int application_fd) {
  std::lock_guard lock(mutex_);
  if (!events_.empty() || !is_readable_) return;
  const Borrowed application(application_fd);
  if (socket_inode(application.get()) != inode_) return;
  char tokens[512];
  ssize_t got = 0;
  do {
    got = recv(application.get(), tokens, sizeof tokens, MSG_DONTWAIT);
  } while (got == sizeof tokens);
  is_readable_ = false;
}

Expected<void, Errno> CmFile::wait(int application_fd) {
  char token = 0;
  const ssize_t got = recv(application_fd, &token, sizeof token, MSG_PEEK);
  // ECONNRESET instead of an end of file, because this end has unread bytes.
  const bool is_gone = got == 0 || (got < 0 && errno == ECONNRESET);
  if (is_gone) return error(ENODEV);
  if (got < 0) return error(errno);
  return {};
}

}  // namespace urxe
