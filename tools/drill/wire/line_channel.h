// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe::drill {

/// Lines over a stream socket, in both directions. One thread at a time.
class LineChannel {
 public:
  static constexpr size_t kMaxLine = 16384;  ///< of received lines

  explicit LineChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] const FileDescriptor& socket() const { return socket_; }
  /// From now on calls `when_readable` whenever this waits and the other descriptor is readable. It
  /// must read from that, and the descriptor must outlive the channel.
  void watch(int fd, std::function<void()> when_readable) {
    watched_ = fd;
    when_readable_ = std::move(when_readable);
  }
  /// Sends the line and a newline. False: the other end is gone, or takes nothing for ten seconds.
  bool send(std::string_view line);
  /// The next line, without its newline. Nullopt: the other end is gone, the line is longer than
  /// kMaxLine, or it does not come within the limit.
  std::optional<std::string> line(Duration limit);
  /// The next `count` bytes; nullopt as above.
  std::optional<std::string> bytes(size_t count, Duration limit);

 private:
  bool fill(Instant deadline);
  bool wait_for(short what, Instant deadline);

  FileDescriptor socket_;
  int watched_ = -1;
  std::function<void()> when_readable_;
  std::string buffer_;
};

}  // namespace urxe::drill
