// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/support/random.h"
#include "transport/memory/memory_region.h"

namespace urxe::sim {

/// The memory of one simulated host, with a second copy that says what it must hold. Ranges that
/// the device is allowed to write at the moment are "in flux"; all other bytes must equal the copy
/// at all times, guard bytes and bytes beside a buffer included.
class Memory {
 public:
  /// `on_demand_percent` of the regions in it are to be accessed with care.
  Memory(size_t bytes, uint64_t pattern_seed, uint32_t on_demand_percent);

  /// How the next region is registered.
  Backing draw_backing();

  [[nodiscard]] uint8_t* at(size_t offset) { return actual_.data() + offset; }
  [[nodiscard]] size_t size() const { return actual_.size(); }
  /// What the range must hold, as far as it is not in flux.
  [[nodiscard]] std::vector<uint8_t> expected(size_t offset, size_t length) const;

  /// Reserves a piece with guard bytes around it.
  size_t reserve(size_t length);

  /// The device may write here until settle(). Nests.
  void begin_flux(size_t offset, size_t length);
  /// One begin_flux() of exactly this range is over; the bytes now are as the copy says.
  void end_flux(size_t offset, size_t length);
  /// Changes what must be there.
  void expect(size_t offset, std::span<const uint8_t> data);
  /// Writes new bytes as the application: both copies.
  void scribble(size_t offset, size_t length, uint64_t pattern_seed);

  [[nodiscard]] bool matches(size_t offset, size_t length) const;
  /// Compares everything that is not in flux; the answer names the first wrong byte, or is empty.
  [[nodiscard]] std::string find_damage() const;

 private:
  std::vector<uint8_t> actual_;
  std::vector<uint8_t> expected_;
  std::map<std::pair<size_t, size_t>, uint32_t> flux_;  ///< (offset, length) and how often
  size_t reserved_ = 0;
  Random random_;
  uint32_t on_demand_percent_;
};

/// Deterministic bytes.
void fill_pattern(std::span<uint8_t> out, uint64_t seed);

}  // namespace urxe::sim
