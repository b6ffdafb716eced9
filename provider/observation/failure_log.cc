// SPDX-License-Identifier: BSD-2-Clause
#include "provider/observation/failure_log.h"

#include <atomic>
#include <cinttypes>

#include "packet/host/stderr_line.h"
#include "provider/observation/explanation.h"

namespace urxe {
namespace {

constinit std::atomic<uint64_t> failures{0};

void print_line(std::string_view line) {
  constexpr std::string_view kBegin = "urxe: ";
  write_stderr_line({kBegin, line.substr(0, ShortText::kCapacity - kBegin.size() - 1), "\n"});
}

}  // namespace

void tell_failure(std::string_view device, const QpReport& report) noexcept {
  if (failure_of(report) == nullptr) return;
  if (failures.fetch_add(1) >= kMostFailureLines) return;
  print_line(failure_line(device, report).view());
}

bool may_tell_failures() noexcept {
  return failures.load() < kMostFailureLines;
}

void count_untold_failures(uint64_t count) noexcept {
  failures.fetch_add(count);
}

void forget_failures() noexcept {
  failures.store(0);
}

void tell_untold_failures() noexcept {
  const uint64_t count = failures.exchange(kMostFailureLines);
  if (count <= kMostFailureLines) return;
  ShortText text;
  text.add_format("%" PRIu64 " more queue pairs have failed; `urxe stat --why` knows the last ones",
                  count - kMostFailureLines);
  print_line(text.view());
}

}  // namespace urxe
