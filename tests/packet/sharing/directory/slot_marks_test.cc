// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/directory/slot_marks.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "packet/wire/qpn_layout.h"

namespace urxe::test {
namespace {

using Socket = SlotMarks::Socket;

std::string file_of(const SlotMarks& marks, Socket kind, uint32_t slot) {
  return std::string(marks.file(kind, slot).view());
}

TEST(SlotMarks, DifferByKindAndSlot) {
  const SlotMarks marks({1, 2});
  std::set<std::string> digits;
  std::set<uint64_t> locks;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    for (const Socket kind : {Socket::kSlot, Socket::kServices, Socket::kLinks}) {
      const std::string file = file_of(marks, kind, slot);
      digits.insert(file.substr(file.rfind('-') + 1));
    }
    locks.insert(marks.lock(slot));
  }
  EXPECT_EQ(digits.size(), 3 * kSlots);
  EXPECT_EQ(locks.size(), kSlots);
  EXPECT_GE(*locks.begin(), SlotMarks::kLocks);
  EXPECT_LT(*locks.rbegin(), SlotMarks::kLocks + SlotMarks::kLockCount);
}

TEST(SlotMarks, AreTheSameForAllWhoKnowTheSecretAndOthersForAnother) {
  const SlotMarks marks({1, 2});
  const SlotMarks same({1, 2});
  const SlotMarks other({1, 3});
  EXPECT_EQ(file_of(marks, Socket::kSlot, 7), file_of(same, Socket::kSlot, 7));
  EXPECT_EQ(marks.lock(7), same.lock(7));
  EXPECT_NE(file_of(marks, Socket::kSlot, 7), file_of(other, Socket::kSlot, 7));
  EXPECT_NE(marks.lock(7), other.lock(7));
}

TEST(SlotMarks, FilesTellWhatTheyAreFor) {
  const SlotMarks marks({1, 2});
  EXPECT_TRUE(file_of(marks, Socket::kSlot, 511).starts_with("slot-"));
  EXPECT_TRUE(file_of(marks, Socket::kServices, 511).starts_with("services-"));
  EXPECT_TRUE(file_of(marks, Socket::kLinks, 511).starts_with("links-"));
  EXPECT_EQ(file_of(marks, Socket::kServices, 511).size(), std::string("services-").size() + 16);
}

}  // namespace
}  // namespace urxe::test
