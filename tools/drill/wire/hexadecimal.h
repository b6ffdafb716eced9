// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace urxe::drill {

std::string to_hexadecimal(std::span<const uint8_t> bytes);
/// nullopt: other characters, or an odd number of digits.
std::optional<std::vector<uint8_t>> from_hexadecimal(std::string_view text);

}  // namespace urxe::drill
