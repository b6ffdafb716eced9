// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/link_rate.h"

#include <array>

namespace urxe {
namespace {

constexpr auto kRates = std::to_array<LinkRate>({
    {10000, 1, 4, "10 Gb/sec (1X QDR)"},
    {25000, 1, 32, "25 Gb/sec (1X EDR)"},
    {40000, 2, 4, "40 Gb/sec (4X QDR)"},
    {50000, 1, 64, "50 Gb/sec (1X HDR)"},
    {56000, 2, 16, "56 Gb/sec (4X FDR)"},
    {100000, 2, 32, "100 Gb/sec (4X EDR)"},
    {200000, 2, 64, "200 Gb/sec (4X HDR)"},
    {400000, 2, 128, "400 Gb/sec (4X NDR)"},
});
constexpr uint32_t kDefaultMbps = 100000;

uint32_t distance(uint32_t a, uint32_t b) {
  return a > b ? a - b : b - a;
}

}  // namespace

const LinkRate& closest_link_rate(std::optional<uint32_t> mbps) {
  uint32_t wanted = mbps.value_or(kDefaultMbps);
  const LinkRate* best = &kRates.front();
  for (const LinkRate& rate : kRates) {
    if (distance(rate.mbps, wanted) < distance(best->mbps, wanted)) best = &rate;
  }
  return *best;
}

const LinkRate* find_link_rate(uint8_t width, uint8_t speed) {
  for (const LinkRate& rate : kRates) {
    if (rate.width == width && rate.speed == speed) return &rate;
  }
  return nullptr;
}

}  // namespace urxe
