// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/aeth_syndrome.h"

#include <algorithm>
#include <array>

namespace urxe {
namespace {

// IBTA vol. 1, table 45 (RNR NAK timer field), in microseconds.
constexpr std::array<int32_t, 32> kRnrMicroseconds = {
    655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
    480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
    20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

// IBTA vol. 1, table 44 (end-to-end flow control credits): code 31 has no row.
constexpr std::array<uint32_t, 31> kCredits = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

}  // namespace

Duration rnr_timer(uint8_t code) {
  return microseconds(kRnrMicroseconds[code & 0x1f]);
}

std::optional<uint32_t> credits_from_code(uint8_t code) {
  if (code >= kCredits.size()) return std::nullopt;
  return kCredits[code];
}

uint8_t credit_code(uint32_t receives) {
  const auto* above = std::upper_bound(kCredits.begin(), kCredits.end(), receives);
  return static_cast<uint8_t>(above - kCredits.begin() - 1);
}

}  // namespace urxe
