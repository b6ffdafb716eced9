// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace urxe {

/// A rate that InfiniBand can name. The codes are those of ibv_port_attr.
struct LinkRate {
  uint32_t mbps = 0;
  uint8_t width = 0;
  uint8_t speed = 0;
  const char* text = "";  ///< as ports/P/rate in sysfs: "100 Gb/sec (4X EDR)"
};

/// The rate closest to the speed of an interface; 100 Gb/s if the interface has no speed. Never
/// below 10 Gb/s: InfiniBand has no 1 Gb/s, and applications take 2.5 Gb/s for a broken link.
const LinkRate& closest_link_rate(std::optional<uint32_t> mbps);

/// The rate with these codes, or nullptr.
const LinkRate* find_link_rate(uint8_t width, uint8_t speed);

}  // namespace urxe
