// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/source.h"

#include <algorithm>

namespace urxe::sim {
namespace {

constexpr LKey kNobodysKey{0x00badbad};

}  // namespace

Source::Source(const Plan& plan, Device& device, Memory& memory, PdId pd, uint32_t longest)
    : memory_(memory),
      max_sge_(plan.max_sge),
      size_(longest + 4096),
      offset_(memory.reserve(size_)),
      region_(must_register_local(device, memory, pd, offset_, size_)),
      null_region_(
          device.register_memory(pd, nullptr, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE, Backing::kNull)
              .value()) {}

std::vector<uint8_t> Source::use(Random& random, const std::vector<Piece>& pieces,
                                 SendRequest& request) const {
  std::vector<uint8_t> data;
  request.sges = sges_of(memory_, pieces, region_->lkey);
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (random.percent(3)) {
      request.sges[i] = {random.next() >> 1, pieces[i].length, null_region_->lkey};
      data.resize(data.size() + pieces[i].length);
      continue;
    }
    const auto part = memory_.expected(pieces[i].offset, pieces[i].length);
    data.insert(data.end(), part.begin(), part.end());
  }
  return data;
}

std::vector<uint8_t> Source::draw(Random& random, uint32_t length, uint32_t inline_bytes,
                                  SendRequest& request) const {
  const size_t offset = offset_ + random.below(size_ - length + 1);
  if (length <= inline_bytes && random.percent(50)) {
    request.flags |= IBV_SEND_INLINE;
    request.inline_data = memory_.expected(offset, length);
    return request.inline_data;
  }
  return use(random, split(random, offset, length, max_sge_), request);
}

std::vector<uint8_t> Source::draw_bad(Random& random, uint32_t length, SendRequest& request) const {
  const auto good = max_sge_ > 1 ? static_cast<uint32_t>(random.below(length)) : 0;
  std::vector<Piece> pieces;
  if (max_sge_ > 1) pieces = split(random, offset_, good, max_sge_ - 1);
  std::vector<uint8_t> data = use(random, pieces, request);
  request.sges.push_back(
      {reinterpret_cast<uint64_t>(memory_.at(offset_)), length - good, kNobodysKey});
  return data;
}

}  // namespace urxe::sim
