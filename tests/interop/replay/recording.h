// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tests/interop/replay/frame.h"
#include "tests/support/capture_file.h"

namespace urxe::replay {

/// The virtual time of a recording's first frame.
inline constexpr Instant kStart{10'000'000'000};

/// A capture file whose frames are all RoCEv2 packets.
class Recording {
 public:
  explicit Recording(const std::string& path);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Why it cannot be replayed; empty: it can.
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }

 private:
  void add(const test::CapturedFrame& captured);

  test::CaptureFile file_;
  std::vector<Frame> frames_;  ///< their bytes are in file_
  std::string error_;
};

}  // namespace urxe::replay
