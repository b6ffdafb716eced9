// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace urxe::stat {

std::string qpn_name(uint32_t qpn) {
  return fmt::format("0x{:06x}", qpn);
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

}  // namespace urxe::stat
