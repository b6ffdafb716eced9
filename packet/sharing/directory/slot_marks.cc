// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/slot_marks.h"

#include <algorithm>

#include "packet/base/bytes.h"

namespace urxe {
namespace {

constexpr std::array<std::string_view, 3> kNames{"slot-", "services-", "links-"};
constexpr uint8_t kLockKind = kNames.size();

}  // namespace

uint64_t SlotMarks::mark(uint8_t kind, uint32_t slot) const {
  std::array<uint8_t, 5> message{kind};
  store_be32(message.data() + 1, slot);
  return siphash(secret_, message);
}

SlotMarks::FileName SlotMarks::file(Socket kind, uint32_t slot) const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto number = static_cast<uint8_t>(kind);
  const uint64_t value = mark(number, slot);
  FileName name;
  char* at = std::ranges::copy(kNames[number], name.text_.data()).out;
  for (int shift = 60; shift >= 0; shift -= 4) *at++ = kDigits[(value >> shift) & 0xf];
  name.size_ = static_cast<size_t>(at - name.text_.data());
  return name;
}

uint64_t SlotMarks::lock(uint32_t slot) const {
  return kLocks + mark(kLockKind, slot) % kLockCount;
}

}  // namespace urxe
