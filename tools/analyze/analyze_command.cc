// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/analyze_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

#include "tools/analyze/new_file.h"
#include "tools/analyze/report.h"

namespace urxe {
namespace {

constexpr int kFound = 1;
constexpr int kFailed = 2;  // the file cannot be read, or the page not be written

int64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void show(const std::string& text) {
  if (text.empty()) return;
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
}

/// With a bar on the terminal, if stderr is one.
auto read_with_bar(const std::string& file, analyze::Analysis& analysis) {
  analyze::ProgressBar bar(now_ns());
  analyze::ProgressVisitor on_progress;
  if (isatty(STDERR_FILENO) != 0) {
    on_progress = [&](const auto& progress) { show(bar.draw(progress, now_ns())); };
  }
  auto read = analyze::read_capture(
      file, [&](const auto& frame) { analysis.on_frame(frame); }, on_progress);
  show(bar.erase());
  return read;
}

/// The name of the file in the page: its folder is nobody else's business.
std::string name_of(const std::string& file) {
  return file.substr(file.rfind('/') + 1);
}

bool complain(const Expected<void, std::string>& result) {
  if (result) return false;
  fmt::print(stderr, "urxe analyze: --html: {}\n", result.error());
  return true;
}

}  // namespace

int analyze_command(const AnalyzeOptions& options) {
  if (options.html && complain(analyze::check_new_file(*options.html))) return kFailed;
  analyze::Analysis analysis;
  const auto read = read_with_bar(options.file, analysis);
  if (!read) {
    fmt::print(stderr, "urxe analyze: {}: {}\n", options.file, read.error().reason);
    if (read.error().frames == 0) return kFailed;
    analysis.note_unread(read.error().reason);
    fmt::print(stderr, "urxe analyze: the {} frames before it follow\n", read.error().frames);
  }
  analysis.finish();
  fmt::print("{}", options.json ? json_report(analysis) : text_report(analysis));
  if (options.html) {
    const std::string html = html_report(analysis, name_of(options.file));
    if (complain(analyze::write_new_file(*options.html, html))) return kFailed;
  }
  if (!read) return kFailed;
  return analysis.found_something() ? kFound : 0;
}

}  // namespace urxe
