// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <initializer_list>
#include <string_view>

namespace urxe {

/// Writes a line, newline included, in up to 16 parts to stderr. That belongs to the program, and
/// may be closed, or a pipe: if the write would block or raise SIGPIPE, the line is left out. Keeps
/// errno. Not a cancellation point. Thread-safe.
void write_stderr_line(std::initializer_list<std::string_view> parts) noexcept;

}  // namespace urxe
