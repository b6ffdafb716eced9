// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/eal_log.h"

#include <rte_log.h>

#include <new>

namespace urxe {
namespace {

constexpr size_t kLongestLine = 512;
constexpr size_t kMostLines = 32;
/// What a user is shown of a failure: the first line is the closest to its cause.
constexpr size_t kShownLines = 2;

}  // namespace

EalLog& EalLog::instance() {
  static auto* const log = new EalLog;
  return *log;
}

bool EalLog::attach() {
  if (attached_) return true;
  cookie_io_functions_t functions{};
  functions.write = write_cookie;
  FILE* const stream = fopencookie(this, "w", functions);
  if (stream == nullptr) return false;
  setvbuf(stream, nullptr, _IOLBF, 0);
  attached_ = rte_openlog_stream(stream) == 0;
  return attached_;
}

ssize_t EalLog::write_cookie(void* cookie, const char* text, size_t size) {
  static_cast<EalLog*>(cookie)->write(text, size);
  return static_cast<ssize_t>(size);
}

void EalLog::write(const char* text, size_t size) try {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == '\n') {
      end_line();
    } else if (line_.size() < kLongestLine && text[i] >= ' ') {
      line_ += text[i];
    }
  }
} catch (const std::bad_alloc&) {
  line_.clear();
}

void EalLog::end_line() {
  if (keeps_ && kept_.size() < kMostLines && !line_.empty()) kept_.push_back(line_);
  if (!keeps_ && print_ != nullptr && !line_.empty()) print_(("DPDK: " + line_).c_str());
  line_.clear();
}

void EalLog::keep() {
  const std::lock_guard lock(mutex_);
  keeps_ = true;
  kept_.clear();
}

std::string EalLog::take() {
  const std::lock_guard lock(mutex_);
  keeps_ = false;
  std::string text;
  for (size_t i = 0; i < kept_.size() && i < kShownLines; ++i) {
    std::string line = kept_[i];
    const size_t colon = line.find("(): ");
    if (colon != std::string::npos) line.erase(0, colon + 4);
    if (line.starts_with("EAL: ")) line.erase(0, 5);
    text += (text.empty() ? "" : "; ") + line;
  }
  kept_.clear();
  return text;
}

void EalLog::set_print(Print print) {
  const std::lock_guard lock(mutex_);
  print_ = print;
}

}  // namespace urxe
