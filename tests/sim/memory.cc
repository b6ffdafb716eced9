// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/memory.h"

#include <algorithm>
#include <cstring>

#include "tests/sim/failure.h"

namespace urxe::sim {
namespace {

constexpr size_t kGuardBytes = 64;

}  // namespace

void fill_pattern(std::span<uint8_t> out, uint64_t seed) {
  Random random(seed);
  size_t done = 0;
  for (; done + 8 <= out.size(); done += 8) {
    const uint64_t word = random.next();
    std::memcpy(out.data() + done, &word, 8);
  }
  const uint64_t word = random.next();
  std::memcpy(out.data() + done, &word, out.size() - done);
}

Memory::Memory(size_t bytes, uint64_t pattern_seed, uint32_t on_demand_percent)
    : actual_(bytes), random_(pattern_seed), on_demand_percent_(on_demand_percent) {
  fill_pattern(actual_, pattern_seed);
  expected_ = actual_;
}

Backing Memory::draw_backing() {
  return random_.percent(on_demand_percent_) ? Backing::kOnDemand : Backing::kPinned;
}

std::vector<uint8_t> Memory::expected(size_t offset, size_t length) const {
  const auto begin = expected_.begin() + static_cast<ptrdiff_t>(offset);
  return {begin, begin + static_cast<ptrdiff_t>(length)};
}

size_t Memory::reserve(size_t length) {
  const size_t offset = reserved_ + kGuardBytes;
  reserved_ = (offset + length + 7) & ~size_t{7};
  require(reserved_ + kGuardBytes <= actual_.size(),
          [] { return std::string("simulator: memory too small"); });
  return offset;
}

void Memory::begin_flux(size_t offset, size_t length) {
  if (length != 0) ++flux_[{offset, length}];
}

void Memory::end_flux(size_t offset, size_t length) {
  if (length == 0) return;
  const auto it = flux_.find({offset, length});
  require(it != flux_.end(), [] { return std::string("simulator: no such range in flux"); });
  if (--it->second == 0) flux_.erase(it);
}

void Memory::expect(size_t offset, std::span<const uint8_t> data) {
  std::copy(data.begin(), data.end(), expected_.begin() + static_cast<ptrdiff_t>(offset));
}

void Memory::scribble(size_t offset, size_t length, uint64_t pattern_seed) {
  fill_pattern({actual_.data() + offset, length}, pattern_seed);
  expect(offset, {actual_.data() + offset, length});
}

bool Memory::matches(size_t offset, size_t length) const {
  return std::memcmp(actual_.data() + offset, expected_.data() + offset, length) == 0;
}

std::string Memory::find_damage() const {
  size_t position = 0;
  const auto check_until = [&](size_t end) -> std::string {
    while (position < end && !matches(position, end - position)) {
      if (actual_[position] != expected_[position]) {
        return text("memory: byte %zu is 0x%02x and must be 0x%02x", position, actual_[position],
                    expected_[position]);
      }
      ++position;
    }
    position = std::max(position, end);
    return {};
  };
  for (const auto& [range, count] : flux_) {
    if (range.first > position) {
      if (auto damage = check_until(range.first); !damage.empty()) return damage;
    }
    position = std::max(position, range.first + range.second);
  }
  return position < actual_.size() ? check_until(actual_.size()) : std::string{};
}

}  // namespace urxe::sim
