// SPDX-License-Identifier: BSD-2-Clause
// Verbs are not cancellation points (pthreads(7)): a thread that is cancelled in the middle of one
// would leave the device locked for ever.
#pragma once

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <span>
#include <type_traits>

namespace urxe {

/// The calling thread cannot be cancelled until this ends.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

  /// What the thread had before: PTHREAD_CANCEL_ENABLE or PTHREAD_CANCEL_DISABLE.
  [[nodiscard]] int before() const { return before_; }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// System calls of the data path. They are the C library's functions of the same names, but not
/// cancellation points, and save the two atomic operations of Uncancelled. Thread-safe.
namespace uncancelled {

template <auto kFunction, class... Arguments>
auto call([[maybe_unused]] long number, Arguments... arguments) {
#ifdef __SANITIZE_THREAD__  // It has to see the C library's calls.
  const Uncancelled uncancelled;
  return kFunction(arguments...);
#else
  const auto widened = [](auto argument) {
    if constexpr (std::is_integral_v<decltype(argument)>) {
      return static_cast<long>(argument);
    } else {
      return argument;
    }
  };
  return static_cast<decltype(kFunction(arguments...))>(syscall(number, widened(arguments)...));
#endif
}

inline ssize_t sendto(int fd, const void* data, size_t size, int flags, const sockaddr* to,
                      socklen_t to_size) {
  return call<::sendto>(SYS_sendto, fd, data, size, flags, to, to_size);
}
inline ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return call<::sendmsg>(SYS_sendmsg, fd, message, flags);
}
inline int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return call<::sendmmsg>(SYS_sendmmsg, fd, messages, count, flags);
}
inline ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return call<::recvmsg>(SYS_recvmsg, fd, message, flags);
}
/// Without a timeout.
inline int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  return call<::recvmmsg>(SYS_recvmmsg, fd, messages, count, flags,
                          static_cast<timespec*>(nullptr));
}
inline ssize_t read(int fd, void* data, size_t size) {
  return call<::read>(SYS_read, fd, data, size);
}
inline ssize_t write(int fd, const void* data, size_t size) {
  return call<::write>(SYS_write, fd, data, size);
}
inline int close(int fd) {
  return call<::close>(SYS_close, fd);
}
/// Does not wait.
inline int epoll_wait(int fd, std::span<epoll_event> events) {
  const int count = static_cast<int>(events.size());
#ifdef __SANITIZE_THREAD__
  const Uncancelled uncancelled;
  return ::epoll_wait(fd, events.data(), count, 0);
#else
  return static_cast<int>(
      syscall(SYS_epoll_pwait, fd, events.data(), long{count}, 0L, nullptr, 0L));
#endif
}

/// Adds one to the number in an eventfd.
inline void ring_bell(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
}
/// Sets the number in an eventfd to 0. The descriptor must be non-blocking, as it may be 0 already.
inline void silence_bell(int fd) {
  uint64_t rings = 0;
  [[maybe_unused]] const ssize_t got = read(fd, &rings, sizeof rings);
}

}  // namespace uncancelled
}  // namespace urxe
