// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace urxe {

/// Text of at most kCapacity bytes; what does not fit is left out. It allocates nothing, so that a
/// process may make one while it exits.
class ShortText {
 public:
  static constexpr size_t kCapacity = 1000;

  void add(std::string_view text) {
    add_format("%.*s", static_cast<int>(text.size()), text.data());
  }
  /// As printf(3).
  __attribute__((format(printf, 2, 3))) void add_format(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length =
        std::vsnprintf(bytes_.data() + size_, bytes_.size() - size_, format, arguments);
    va_end(arguments);
    if (length > 0) size_ = std::min(size_ + static_cast<size_t>(length), kCapacity);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.data(), size_}; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  std::array<char, kCapacity + 1> bytes_{};
  size_t size_ = 0;
};

}  // namespace urxe
