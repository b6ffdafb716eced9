// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <string>

// How a failure reaches the application: errno, and at times a line on stderr.
namespace urxe {

/// The result by which a function of C reports that it has failed: null, or -1.
struct Failure {
  template <class T>
  operator T*() const {
    return nullptr;
  }
  operator int() const { return -1; }
  operator ssize_t() const { return -1; }
};

/// Sets errno, for `return fail(EINVAL);`.
inline Failure fail(int errno_value) {
  errno = errno_value;
  return {};
}

/// Prints one line on stderr, "urxe: <text>". Never fails, keeps errno.
void print_error(const std::string& text) noexcept;

/// Prints `text`; if the error is one that a limit of the process explains, with that limit. Of a
/// lack of descriptors only the first failure is told.
void print_failure(const std::string& text, int errno_value) noexcept;

/// Prints that `what` was impossible, if a limit of the process explains the error: "cannot
/// <what>: Too many open files (...)". Once a process and kind of limit, also after
/// print_failure(): a program at its limit fails again and again. Keeps errno.
void report_lack(const char* what, int errno_value) noexcept;

}  // namespace urxe
