// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/conformance/support/objects.h"

namespace conformance {

inline constexpr unsigned kRemoteAccess =
    IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr unsigned kAllAccess = IBV_ACCESS_LOCAL_WRITE | kRemoteAccess;

/// Registered memory, filled with one byte value. Aligned to 16 bytes at least.
struct Buffer {
  Buffer(ibv_pd* pd, size_t size, unsigned access = kAllAccess, uint8_t fill = 0)
      : bytes(size, fill), mr(ibv_reg_mr(pd, bytes.data(), size, static_cast<int>(access))) {
    EXPECT_NE(mr, nullptr) << "ibv_reg_mr: " << std::strerror(errno);
  }
  uint64_t address(size_t offset = 0) const {
    return reinterpret_cast<uint64_t>(bytes.data()) + offset;
  }
  ibv_sge sge() const { return {address(), static_cast<uint32_t>(bytes.size()), mr->lkey}; }
  ibv_sge sge(size_t offset, uint32_t length) const { return {address(offset), length, mr->lkey}; }
  uint32_t rkey() const { return mr->rkey; }
  /// Bytes that tell their place; `seed` makes one such pattern differ from another.
  void fill_pattern(uint8_t seed = 1) {
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 8) * 13 + seed);
  }

  std::vector<uint8_t> bytes;
  MrPtr mr;
};

}  // namespace conformance
