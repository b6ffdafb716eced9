// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "transport/observation/qp_report.h"

namespace urxe {

// Lines on stderr about queue pairs that failed, for `urxe run --explain`. They go into programs of
// others: no more than kMostFailureLines a process, one write(2) each. A line is dropped if stderr
// has no room for it, or nobody reads it; nothing waits for that. Any thread; errno is kept.

inline constexpr unsigned kMostFailureLines = 16;

/// "urxe: " and failure_line(). Does nothing for a queue pair that has not failed.
void tell_failure(std::string_view device, const QpReport& report) noexcept;

/// False: the next lines will only be counted, as count_untold_failures() does.
bool may_tell_failures() noexcept;
void count_untold_failures(uint64_t count) noexcept;

/// In the child of a fork(): what has failed is the parent's to tell.
void forget_failures() noexcept;

/// The process exits: says how many more have failed than were told of, if any.
void tell_untold_failures() noexcept;

}  // namespace urxe
