// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

namespace urxe {

/// Appends the text that printf() would print, up to 127 characters.
template <class... Args>
void append_text(std::string& line, const char* pattern, Args... args) {
  static_assert(sizeof...(Args) != 0, "a text without a pattern is appended as it is");
  char text[128];
  const int size = std::snprintf(text, sizeof text, pattern, args...);
  if (size > 0) line.append(text, std::min(static_cast<size_t>(size), sizeof text - 1));
}

}  // namespace urxe
