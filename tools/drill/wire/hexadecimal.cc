// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/hexadecimal.h"

#include <fmt/format.h>

#include <charconv>

namespace urxe::drill {

std::string to_hexadecimal(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::optional<std::vector<uint8_t>> from_hexadecimal(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at < text.size(); at += 2) {
    uint8_t byte = 0;
    const char* const digits = text.data() + at;
    const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
    if (error != std::errc{} || end != digits + 2) return std::nullopt;
    bytes.push_back(byte);
  }
  return bytes;
}

}  // namespace urxe::drill
