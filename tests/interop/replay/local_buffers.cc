// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/local_buffers.h"

namespace urxe::replay {
namespace {

/// Found where nothing was written.
constexpr uint8_t kUntouched = 0xa5;

}  // namespace

std::vector<Sge> LocalBuffers::add(size_t bytes) {
  return add(std::vector<uint8_t>(bytes, kUntouched));
}

std::vector<Sge> LocalBuffers::add(std::span<const uint8_t> contents) {
  if (contents.empty()) return {};
  auto& buffer = buffers_.emplace_back(contents.begin(), contents.end());
  const auto address = reinterpret_cast<uint64_t>(buffer.data());
  const MemoryRegion* region = adapter_.device()
                                   .register_memory(adapter_.pd(), buffer.data(), buffer.size(),
                                                    address, IBV_ACCESS_LOCAL_WRITE)
                                   .value();
  return {Sge{address, static_cast<uint32_t>(buffer.size()), region->lkey}};
}

std::span<const uint8_t> bytes_of(const std::vector<Sge>& list) {
  if (list.empty()) return {};
  return {reinterpret_cast<const uint8_t*>(list[0].addr), list[0].length};
}

}  // namespace urxe::replay
