// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace urxe::analyze {

/// How far the reading of a capture has come.
struct Progress {
  uint64_t frames = 0;
  uint64_t bytes = 0;  ///< of the file
  uint64_t size = 0;   ///< of the file; 0: not known, as for a pipe
};

/// When a progress bar is drawn, and what it looks like: nothing in the first two seconds, then at
/// most ten times a second. Time is an argument, in nanoseconds of any clock that does not go back.
class ProgressBar {
 public:
  static constexpr int64_t kQuietNs = 2'000'000'000;
  static constexpr int64_t kIntervalNs = 100'000'000;

  explicit ProgressBar(int64_t now_ns) : start_ns_(now_ns), next_ns_(now_ns + kQuietNs) {}
  /// What to write to the terminal now; empty: nothing.
  std::string draw(const Progress& progress, int64_t now_ns);
  /// What removes the bar again; empty if none was drawn.
  [[nodiscard]] std::string erase() const;

 private:
  int64_t start_ns_;
  int64_t next_ns_;
  bool drawn_ = false;
};

}  // namespace urxe::analyze
