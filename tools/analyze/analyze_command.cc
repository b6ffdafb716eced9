// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/analyze_command.h"

#include <fmt/format.h>

#include "tools/analyze/report.h"

namespace urxe {
namespace {

constexpr int kFound = 1;
constexpr int kUnreadable = 2;

}  // namespace

int analyze_command(const AnalyzeOptions& options) {
  analyze::Analysis analysis;
  const auto read =
      analyze::read_capture(options.file, [&](const auto& frame) { analysis.on_frame(frame); });
  if (!read) {
    fmt::print(stderr, "urxe analyze: {}: {}\n", options.file, read.error().reason);
    if (read.error().frames == 0) return kUnreadable;
    fmt::print(stderr, "urxe analyze: the {} frames before it follow\n", read.error().frames);
  }
  analysis.finish();
  fmt::print("{}", options.json ? json_report(analysis) : text_report(analysis));
  if (!read) return kUnreadable;
  return analysis.found_something() ? kFound : 0;
}

}  // namespace urxe
