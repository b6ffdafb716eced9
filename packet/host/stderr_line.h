// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <initializer_list>
#include <string_view>

namespace urxe {

/// Writes the parts, at most 16 and together a line with its end, to stderr. It belongs to the
/// program, which may have closed it, or given it to a pipe: the line is left out where it would
/// have to wait, or where SIGPIPE would end the program. Keeps errno; no cancellation point.
/// Thread-safe.
void write_stderr_line(std::initializer_list<std::string_view> parts) noexcept;

}  // namespace urxe
