// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/analyze_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tools/analyze/new_file.h"
#include "tools/analyze/report.h"
#include "tools/exit_status.h"

namespace urxe {
namespace {

constexpr int kFound = 1;

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

Expected<void, std::string> check_page(const std::string& path) {
  if (path != "-") return analyze::check_new_file(path);
  return Unexpected<std::string>(
      "- is not a file name here, since the report goes to the standard output: name a file, or "
      "./- for one of this name");
}

bool print_report(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return true;
  fmt::print(stderr, "urxe analyze: cannot write the output: {}\n", std::strerror(errno));
  return false;
}

}  // namespace

int analyze_command(const AnalyzeOptions& options) {
  // A limit on the size of files is then an error of write(), which is told, and removes the draft.
  std::signal(SIGXFSZ, SIG_IGN);
  if (options.html && complain(check_page(*options.html))) return kBadInput;
  analyze::Analysis analysis;
  const auto read = read_with_bar(options.file, analysis);
  if (!read) {
    fmt::print(stderr, "urxe analyze: {}: {}\n", options.file, read.error().reason);
    if (read.error().frames == 0) return kBadInput;
    analysis.note_unread(read.error().reason);
    fmt::print(stderr, "urxe analyze: the {} frames before it follow\n", read.error().frames);
  }
  analysis.finish();
  if (!print_report(options.json ? json_report(analysis) : text_report(analysis))) {
    return kOurFailure;
  }
  if (options.html) {
    const std::string html = html_report(analysis, name_of(options.file));
    if (complain(analyze::write_new_file(*options.html, html))) return kOurFailure;
  }
  if (!read) return kBadInput;
  return analysis.found_something() ? kFound : 0;
}

}  // namespace urxe
