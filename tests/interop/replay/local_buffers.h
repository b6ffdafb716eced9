// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "tests/interop/replay/adapter.h"
#include "transport/memory/memory_region.h"

namespace urxe::replay {

/// Buffers of work requests, a region each, so that nothing but its own request reaches one.
class LocalBuffers {
 public:
  explicit LocalBuffers(Adapter& adapter) : adapter_(adapter) {}

  /// The scatter/gather list of a new buffer: one element, none for no bytes.
  std::vector<Sge> add(std::span<const uint8_t> contents);
  std::vector<Sge> add(size_t bytes);

 private:
  Adapter& adapter_;
  std::deque<std::vector<uint8_t>> buffers_;
};

/// What a buffer holds now.
std::span<const uint8_t> bytes_of(const std::vector<Sge>& list);

}  // namespace urxe::replay
