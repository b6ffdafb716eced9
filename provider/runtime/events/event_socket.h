// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "packet/base/expected.h"

namespace urxe {

/// A queue of events that the application reads from a file descriptor, as it does from the
/// kernel's: a completion channel or a context's asynchronous events. The reading end belongs to
/// the application (or libibverbs), which may poll it, make it non-blocking and close it.
///
/// Up to kMaxWaiting events for which the socket has no room are kept until flush(). Thread-safe.
class EventSocket {
 public:
  struct Event {
    std::array<uint8_t, 16> bytes{};
    /// The object that the event is about: its first eight bytes, native order.
    [[nodiscard]] uint64_t element() const;
  };

  /// `event_size`: 8 or 16 bytes. The caller owns `reader_fd`. EMFILE, ENFILE, ENOMEM.
  static Expected<std::shared_ptr<EventSocket>, Errno> create(size_t event_size, int* reader_fd);

  ~EventSocket();
  EventSocket(const EventSocket&) = delete;
  EventSocket& operator=(const EventSocket&) = delete;

  /// How the application waits for the events of a completion channel. Kept by Progress.
  struct Use {
    std::atomic<int> armed{0};  ///< completion queues that are armed for an event here
    /// A thread waited for events by Progress::wait_for_event() in this epoch of it; 0: in none.
    std::atomic<uint64_t> awaited_in{0};
    /// The number of the lane of the channel's completion queues, plus 1; 0: there is none yet.
    std::atomic<uint32_t> lane{0};
  };
  [[nodiscard]] Use& use() { return use_; }

  /// How many events were given to send() and not dropped. Any thread.
  [[nodiscard]] uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
  /// False: dropped, because kMaxWaiting events wait for the application already.
  bool send(const Event& event);
  /// Sends the waiting events; false: some still wait.
  bool flush();
  [[nodiscard]] bool has_waiting() const;
  /// Takes back the unread events about `element`; returns their number. Takes no memory as long as
  /// the socket has room for the others.
  uint32_t take_back(uint64_t element);
  /// Whether `fd` is the reading end of this socket, still open.
  [[nodiscard]] bool is_reader(int fd) const;
  /// Whether no reading end is open any more.
  [[nodiscard]] bool reader_is_gone() const;

 private:
  EventSocket(size_t event_size, int reader_fd, int writer_fd, ino_t reader_inode);
  static std::shared_ptr<EventSocket> make(size_t event_size, int reader_fd, int writer_fd,
                                           ino_t reader_inode);
  // Nothing is freed while the mutex is held. A thread that frees memory may wait for the thread
  // that drives a device (Progress::wait_for_holder()), which may wait for the mutex in send().
  bool flush_locked(std::list<Event>& sent);
  size_t offer(const uint8_t* events, size_t count) const;

  /// Events sent or taken back by one call: so few that the socket takes all of them or none.
  static constexpr size_t kAtOnce = 128;
  using Batch = std::array<uint8_t, kAtOnce * 16>;
  [[nodiscard]] size_t unread() const;
  size_t read_back(Batch& batch, size_t most) const;
  uint32_t take_unread(uint64_t element, std::list<Event>& waiting);
  void send_again(const Batch& batch, size_t count, std::list<Event>& waiting) const;
  static constexpr size_t kMaxWaiting = 65536;

  const size_t event_size_;
  const int reader_fd_;  ///< the application's, which may have closed it and reused the number
  const int writer_fd_;
  const ino_t reader_inode_;
  mutable std::mutex mutex_;
  std::list<Event> waiting_;
  std::atomic<uint64_t> sent_{0};
  Use use_;
};

}  // namespace urxe
