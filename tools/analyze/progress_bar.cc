// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>

namespace urxe::analyze {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

/// "[#####-----]  50 %, 1234 frames, 3 s left"; without the size of the file only the frames.
std::string bar_text(const Progress& progress, int64_t elapsed_ns) {
  constexpr size_t kWidth = 30;
  constexpr double kPercent = 100;
  constexpr double kNsPerSecond = 1e9;
  std::string frames = fmt::format("{} frames", progress.frames);
  if (progress.size == 0) return frames;
  const double part =
      std::min(1.0, static_cast<double>(progress.bytes) / static_cast<double>(progress.size));
  const auto full = static_cast<size_t>(part * static_cast<double>(kWidth));
  std::string text = fmt::format("[{:#<{}}{:-<{}}] {:3.0f} %, {}", "", full, "", kWidth - full,
                                 part * kPercent, frames);
  if (part > 0) {
    const double left = static_cast<double>(elapsed_ns) / kNsPerSecond * (1 - part) / part;
    text += fmt::format(", {:.0f} s left", left);
  }
  return text;
}

}  // namespace

std::string ProgressBar::draw(const Progress& progress, int64_t now_ns) {
  if (now_ns < next_ns_) return "";
  next_ns_ = now_ns + kIntervalNs;
  drawn_ = true;
  return kEraseLine + bar_text(progress, now_ns - start_ns_);
}

std::string ProgressBar::erase() const {
  return drawn_ ? kEraseLine : "";
}

}  // namespace urxe::analyze
