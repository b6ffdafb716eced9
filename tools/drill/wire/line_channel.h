// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "packet/base/time.h"
#include "packet/host/file_descriptor.h"

namespace urxe::drill {

/// Lines over a stream socket, in both directions. One thread at a time.
class LineChannel {
 public:
  static constexpr size_t kMaxLine = 16384;  ///< of received lines

  explicit LineChannel(FileDescriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  /// Sends the line and a newline. False: the other end is gone, or takes nothing for ten seconds.
  bool send(std::string_view line);
  /// The next line, without its newline. Nullopt: the other end is gone, the line is longer than
  /// kMaxLine, or it does not come within the limit.
  std::optional<std::string> line(Duration limit);
  /// The next `count` bytes; nullopt as above.
  std::optional<std::string> bytes(size_t count, Duration limit);

 private:
  bool fill(Instant deadline);

  FileDescriptor socket_;
  std::string buffer_;
};

}  // namespace urxe::drill
