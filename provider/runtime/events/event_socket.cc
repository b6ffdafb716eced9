// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/events/event_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "packet/host/uncancelled.h"

namespace urxe {

uint64_t EventSocket::Event::element() const {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Expected<std::shared_ptr<EventSocket>, Errno> EventSocket::create(size_t event_size,
                                                                  int* reader_fd) {
  int fds[2];
  // A stream socket and not a pipe: a write after the reader is gone raises no signal.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) return error(errno);
  struct stat status {};
  if (fstat(fds[0], &status) == 0) {
    std::shared_ptr<EventSocket> made(new (std::nothrow)
                                          EventSocket(event_size, fds[0], fds[1], status.st_ino));
    if (made) {
      *reader_fd = fds[0];
      return made;
    }
  }
  uncancelled::close(fds[0]);
  uncancelled::close(fds[1]);
  return error(ENOMEM);
}

EventSocket::EventSocket(size_t event_size, int reader_fd, int writer_fd, ino_t reader_inode)
    : event_size_(event_size),
      reader_fd_(reader_fd),
      writer_fd_(writer_fd),
      reader_inode_(reader_inode) {}

EventSocket::~EventSocket() {
  uncancelled::close(writer_fd_);
}

bool EventSocket::send(const Event& event) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() >= kMaxWaiting) return false;
  try {
    waiting_.push_back(event);
  } catch (const std::bad_alloc&) {
    return false;
  }
  sent_.fetch_add(1, std::memory_order_relaxed);
  flush_locked();
  return true;
}

bool EventSocket::flush() {
  std::lock_guard lock(mutex_);
  return flush_locked();
}

bool EventSocket::flush_locked() {
  if (waiting_.empty()) return true;
  const Uncancelled uncancelled;
  while (!waiting_.empty()) {
    Batch batch;
    const size_t count = std::min(waiting_.size(), kAtOnce);
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(batch.data() + i * event_size_, waiting_[i].bytes.data(), event_size_);
    }
    const ssize_t sent =
        ::send(writer_fd_, batch.data(), count * event_size_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) return false;
      waiting_.clear();  // nobody will read
      return true;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + sent / static_cast<ssize_t>(event_size_));
  }
  return true;
}

bool EventSocket::has_waiting() const {
  std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

bool EventSocket::read_back(std::deque<Event>& events) const {
  Batch batch;
  ssize_t got = 0;
  do {
    got = recv(reader_fd_, batch.data(), kAtOnce * event_size_, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  for (ssize_t at = 0; at < got; at += static_cast<ssize_t>(event_size_)) {
    std::memcpy(events.emplace_back().bytes.data(), batch.data() + at, event_size_);
  }
  return got > 0;
}

uint32_t EventSocket::take_back(uint64_t element) {
  std::lock_guard lock(mutex_);
  std::deque<Event> unread;
  while (is_reader(reader_fd_) && read_back(unread)) {
  }
  unread.insert(unread.end(), waiting_.begin(), waiting_.end());
  auto is_about = [element](const Event& e) { return e.element() == element; };
  auto kept_end = std::remove_if(unread.begin(), unread.end(), is_about);
  auto taken = static_cast<uint32_t>(unread.end() - kept_end);
  unread.erase(kept_end, unread.end());
  waiting_.swap(unread);
  flush_locked();
  return taken;
}

bool EventSocket::is_reader(int fd) const {
  struct stat status {};
  return fd == reader_fd_ && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
         status.st_ino == reader_inode_;
}

bool EventSocket::reader_is_gone() const {
  pollfd poll_fd{writer_fd_, 0, 0};
  return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace urxe
