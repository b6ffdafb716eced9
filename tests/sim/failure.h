// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace urxe::sim {

/// An invariant that did not hold. The simulator's main reports it with the seed.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// printf into a string.
[[gnu::format(printf, 1, 2)]] inline std::string text(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

/// Fails the run with what `describe()` says unless `condition` holds.
template <class Describe>
void require(bool condition, Describe&& describe) {
  if (!condition) throw Failure(describe());
}

}  // namespace urxe::sim
