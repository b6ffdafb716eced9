// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/frame_match.h"

#include <algorithm>
#include <bit>

#include "packet/base/bytes.h"
#include "packet/base/check.h"

namespace urxe {
namespace {

uint32_t load(const uint8_t* at, size_t size) {
  return size == 4 ? load_be32(at) : size == 2 ? uint32_t{load_be16(at)} : uint32_t{*at};
}

/// Where a word's bytes lie; an empty span: the frame does not have them.
std::span<const uint8_t> bytes_at(std::span<const uint8_t> frame, const FrameHeaders& headers,
                                  const FrameMatch::Word& word) {
  using Base = FrameMatch::Base;
  size_t at = word.offset;
  if (word.base == Base::kNetwork) at += headers.network_at;
  if (word.base == Base::kTransport) {
    if (headers.transport == FrameHeaders::Transport::kOther) return {};
    at += headers.transport_at;
  }
  if (at + word.size > frame.size()) return {};
  return frame.subspan(at, word.size);
}

bool matches_word(std::span<const uint8_t> frame, const FrameHeaders& headers,
                  const FrameMatch::Word& word) {
  using Base = FrameMatch::Base;
  if (word.base == Base::kEtherType) return (headers.ether_type & word.mask) == word.value;
  if (word.base == Base::kVlanTag) {
    return headers.vlan_tag && (*headers.vlan_tag & word.mask) == word.value;
  }
  const auto bytes = bytes_at(frame, headers, word);
  return !bytes.empty() && (load(bytes.data(), word.size) & word.mask) == word.value;
}

}  // namespace

void FrameMatch::require(Base base, size_t offset, std::span<const uint8_t> value,
                         std::span<const uint8_t> mask) {
  for (size_t at = 0; at < value.size();) {
    const size_t size = std::min<size_t>(std::bit_floor(value.size() - at), 4);
    const uint32_t word_mask = load(mask.data() + at, size);
    if (word_mask != 0 && check(count_ < kMaxWords)) {
      words_[count_++] = {base, static_cast<uint8_t>(offset + at), static_cast<uint8_t>(size),
                          load(value.data() + at, size) & word_mask, word_mask};
    }
    at += size;
  }
}

bool FrameMatch::matches(std::span<const uint8_t> frame, const FrameHeaders& headers) const {
  if (network_ != FrameHeaders::Network::kOther && network_ != headers.network) return false;
  if (transport_ != FrameHeaders::Transport::kOther && transport_ != headers.transport) {
    return false;
  }
  return std::ranges::all_of(words(),
                             [&](const Word& word) { return matches_word(frame, headers, word); });
}

FrameMatch::Destination FrameMatch::destination() const {
  Destination destination;
  for (const Word& word : words()) {
    if (word.base != Base::kFrame || word.offset >= destination.value.size()) continue;
    for (size_t i = 0; i < word.size; ++i) {
      const auto shift = static_cast<unsigned>(8 * (word.size - 1 - i));
      destination.value[word.offset + i] = static_cast<uint8_t>(word.value >> shift);
      destination.mask[word.offset + i] = static_cast<uint8_t>(word.mask >> shift);
    }
  }
  return destination;
}

}  // namespace urxe
