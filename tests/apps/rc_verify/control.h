// SPDX-License-Identifier: BSD-2-Clause
// The TCP connection on which the two processes agree on what comes next. No verbs here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace rc_verify {

// Memory that a peer may reach.
struct Region {
  uint64_t address;
  uint32_t rkey;
};

class Control {
 public:
  // Waits for one client on `port`, over IPv4 or IPv6.
  static Control accept_one(uint16_t port);
  static Control connect_to(const std::string& host, uint16_t port);

  Control(Control&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

  int fd() const { return fd_; }

  // Throw peer_lost where the connection has ended.
  void send_bytes(const void* bytes, size_t length);
  void receive_bytes(void* bytes, size_t length);

  template <typename T>
  void send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    send_bytes(&value, sizeof value);
  }
  template <typename T>
  T receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    receive_bytes(&value, sizeof value);
    return value;
  }

  // Sends ours and returns the peer's, of the same number of elements.
  template <typename T>
  std::vector<T> exchange(const std::vector<T>& ours) {
    for (const T& value : ours) send(value);
    std::vector<T> theirs;
    for (size_t i = 0; i < ours.size(); ++i) theirs.push_back(receive<T>());
    return theirs;
  }

  // Returns when the peer has called it too, as often as we have. `name` finds two sides out of
  // step.
  void barrier(uint32_t name);

  // Whether the connection has ended; waits at most `wait_ms` for that.
  bool peer_gone(int wait_ms) const;

 private:
  explicit Control(int fd);
  int fd_;
};

}  // namespace rc_verify
