// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/events/event_socket.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
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
    const int writer = std::exchange(fds[1], -1);  // the object's from now on
    auto made = make(event_size, fds[0], writer, status.st_ino);
    if (made) {
      *reader_fd = fds[0];
      return made;
    }
  }
  uncancelled::close(fds[0]);
  if (fds[1] >= 0) uncancelled::close(fds[1]);
  return error(ENOMEM);
}

/// Null: no memory, and the writer is closed.
std::shared_ptr<EventSocket> EventSocket::make(size_t event_size, int reader_fd, int writer_fd,
                                               ino_t reader_inode) {
  auto* const made = new (std::nothrow) EventSocket(event_size, reader_fd, writer_fd, reader_inode);
  if (made == nullptr) {
    uncancelled::close(writer_fd);
    return nullptr;
  }
  try {
    return std::shared_ptr<EventSocket>(made);
  } catch (const std::bad_alloc&) {
    return nullptr;  // and it is deleted
  }
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
  std::list<Event> sent;
  std::lock_guard lock(mutex_);
  if (!flush_locked(sent) || offer(event.bytes.data(), 1) == 0) {
    if (waiting_.size() >= kMaxWaiting) return false;
    try {
      waiting_.push_back(event);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  sent_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool EventSocket::flush() {
  std::list<Event> sent;
  std::lock_guard lock(mutex_);
  return flush_locked(sent);
}

/// Moves what the socket has taken to `sent`, which the caller frees without the lock.
bool EventSocket::flush_locked(std::list<Event>& sent) {
  while (!waiting_.empty()) {
    Batch batch;
    size_t count = 0;
    for (auto one = waiting_.begin(); one != waiting_.end() && count < kAtOnce; ++one) {
      std::memcpy(batch.data() + count++ * event_size_, one->bytes.data(), event_size_);
    }
    const size_t taken = offer(batch.data(), count);
    if (taken == 0) return false;
    const auto end = std::next(waiting_.begin(), static_cast<ssize_t>(taken));
    sent.splice(sent.end(), waiting_, waiting_.begin(), end);
  }
  return true;
}

/// How many of the events the socket has taken; 0: it has no room. Takes all if nobody will read.
size_t EventSocket::offer(const uint8_t* events, size_t count) const {
  const Uncancelled uncancelled;
  ssize_t taken = 0;
  do {
    taken = ::send(writer_fd_, events, count * event_size_, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (taken < 0 && errno == EINTR);
  if (taken >= 0) return static_cast<size_t>(taken) / event_size_;
  return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ? 0 : count;
}

bool EventSocket::has_waiting() const {
  std::lock_guard lock(mutex_);
  return !waiting_.empty();
}

/// How many unread events the socket holds.
size_t EventSocket::unread() const {
  int bytes = 0;
  if (!is_reader(reader_fd_) || ioctl(reader_fd_, FIONREAD, &bytes) != 0 || bytes < 0) return 0;
  return static_cast<size_t>(bytes) / event_size_;
}

/// How many events were read, `most` at most.
size_t EventSocket::read_back(Batch& batch, size_t most) const {
  const Uncancelled uncancelled;
  ssize_t got = 0;
  do {
    got = recv(reader_fd_, batch.data(), std::min(most, kAtOnce) * event_size_, MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  return got > 0 ? static_cast<size_t>(got) / event_size_ : 0;
}

/// Reads each unread event once, and sends all of them again except those about `element`. Returns
/// the number of those. If the socket has no room for the others, they go to `waiting`, which takes
/// memory; they are older than the events that wait already.
uint32_t EventSocket::take_unread(uint64_t element, std::list<Event>& waiting) {
  uint32_t taken = 0;
  Batch batch;
  size_t count = 0;
  for (size_t left = unread(); left != 0; left -= count) {
    count = read_back(batch, left);
    if (count == 0) break;  // the application has read them
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
      Event event;
      std::memcpy(event.bytes.data(), batch.data() + i * event_size_, event_size_);
      if (event.element() == element) {
        ++taken;
      } else {
        std::memcpy(batch.data() + kept++ * event_size_, event.bytes.data(), event_size_);
      }
    }
    if (kept != 0) send_again(batch, kept, waiting);
  }
  return taken;
}

void EventSocket::send_again(const Batch& batch, size_t count, std::list<Event>& waiting) const {
  size_t sent = waiting.empty() ? offer(batch.data(), count) : 0;
  for (; sent < count; ++sent) {
    Event event;
    std::memcpy(event.bytes.data(), batch.data() + sent * event_size_, event_size_);
    try {
      waiting.push_back(event);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
}

uint32_t EventSocket::take_back(uint64_t element) {
  std::list<Event> taken;
  std::list<Event> sent;
  std::list<Event> unsent;
  std::lock_guard lock(mutex_);
  uint32_t count = take_unread(element, unsent);
  waiting_.splice(waiting_.begin(), unsent);
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    const auto next = std::next(one);
    if (one->element() == element) taken.splice(taken.end(), waiting_, one);
    one = next;
  }
  flush_locked(sent);
  return count + static_cast<uint32_t>(taken.size());
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
