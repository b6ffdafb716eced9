// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

/// Whether the file `path`, if there is one that this process may read, is one that a capture can
/// be appended to. Changes nothing. Root's programs may open it as another user: for root the owner
/// does not count.
Expected<void, EngineError> check_capture_file(const std::string& path);

/// The file of a capture, which the lanes of an engine share. Several threads and processes may
/// append to it at once: every append is one write() to a file opened for appending. A write that
/// fails ends the capture with one message on stderr. Until then it holds a shared lock on the file
/// (flock(2)), by which the next one that opens it sees that it is not alone.
class CaptureWriter {
 public:
  /// Creates the file `path`, or appends to it if it is a capture that was begun before. If nobody
  /// else appends to it, half a record at its end is cut off: a full disk or a kill has left that.
  /// Fails if the file is anything else, is damaged before its end, or belongs to another user. A
  /// capture holds payload: its file has mode 0600 when it begins. One that goes on keeps the mode
  /// that its owner has given it since.
  static Expected<CaptureWriter, EngineError> open(const std::string& path);
  CaptureWriter(CaptureWriter&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::move(other.fd_)), on_(other.on_.load()) {}
  CaptureWriter& operator=(CaptureWriter&&) = delete;

  /// False: capturing has stopped.
  [[nodiscard]] bool is_on() const { return on_.load(std::memory_order_relaxed); }
  /// Appends whole records.
  void append(std::span<const uint8_t> records);
  /// Ends the capture; `why` is told to the user.
  void stop(const char* why);

 private:
  CaptureWriter(std::string path, FileDescriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::string path_;
  FileDescriptor fd_;  ///< stays open: another lane may be about to write
  std::atomic<bool> on_{true};
};

}  // namespace urxe
