// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/memory.h"
#include "tests/sim/pieces.h"
#include "tests/sim/plan.h"
#include "tests/sim/posting.h"
#include "tests/support/random.h"
#include "transport/device/device.h"

namespace urxe::sim {

/// Bytes that a side sends from: they never change, so any request may use any of them. Now and
/// then an element of a list is of a null region, which reads as zeros.
class Source {
 public:
  Source(const Plan& plan, Device& device, Memory& memory, PdId pd, uint32_t longest);

  /// Has `request` send `length` of these bytes, inline or by a list; returns them.
  std::vector<uint8_t> draw(Random& random, uint32_t length, uint32_t inline_bytes,
                            SendRequest& request) const;
  /// The same with a list that ends in an element of a key that nobody has. Returns what comes
  /// before it; `length` is at least 1.
  std::vector<uint8_t> draw_bad(Random& random, uint32_t length, SendRequest& request) const;

 private:
  std::vector<uint8_t> use(Random& random, const std::vector<Piece>& pieces,
                           SendRequest& request) const;

  Memory& memory_;
  uint32_t max_sge_;
  uint32_t size_;
  size_t offset_;
  MemoryRegion* region_;
  MemoryRegion* null_region_;
};

}  // namespace urxe::sim
