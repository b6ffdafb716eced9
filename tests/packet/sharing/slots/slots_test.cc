// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots/slots.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/packet/sharing/child_process.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/isolation.h"

namespace urxe::test::slots_test {
namespace {

struct Held {
  uint32_t slot;
  std::array<uint32_t, 2> indices;
};

/// Each slot has two.
constexpr rlim_t kDescriptorsOfAllSlots = 2 * kSlots + 256;

void hold_slot_forever(int pipe) {
  auto slot = Slot::acquire();
  if (!slot) _exit(1);
  write_record(pipe, Held{slot->number(), {slot->next_index(), slot->next_index()}});
  for (;;) pause();
}

TEST(Slots, EachHolderHasAnotherOne) {
  auto first = Slot::acquire();
  auto second = Slot::acquire();
  ASSERT_TRUE(first && second);
  const ChildProcess child(hold_slot_forever);
  const auto third = child.read<Held>();
  ASSERT_TRUE(third);
  EXPECT_EQ((std::set{first->number(), second->number(), third->slot}).size(), 3U);
}

TEST(Slots, AKilledProcessLeavesItsSlotAndTheNumbersGoOn) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  if (!may_have_descriptors(kDescriptorsOfAllSlots))
    GTEST_SKIP() << "may not have enough descriptors";
  ChildProcess child(hold_slot_forever);
  const auto held = child.read<Held>();
  ASSERT_TRUE(held);
  child.kill();
  // Expect: the slot comes round after all the others, and its numbers go on.
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto slot = Slot::acquire();
    ASSERT_TRUE(slot) << slot.error().what;
    slots.push_back(*std::move(slot));
  }
  EXPECT_EQ(slots.back().number(), held->slot) << "freed last, taken last";
  std::set<uint32_t> given(held->indices.begin(), held->indices.end());
  for (uint32_t i = 0; i < kQpIndices - 4; ++i) given.insert(slots.back().next_index());
  EXPECT_EQ(given.size(), kQpIndices - 2) << "a number of the dead process came back early";

  const auto none = Slot::acquire();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value, EUSERS);
  EXPECT_NE(none.error().what.find("512"), std::string::npos);
  slots.pop_back();
  EXPECT_TRUE(Slot::acquire()) << "and it is free again";
}

// Expect: who has seen some numbers cannot tell the next by the distance.
TEST(Slots, QueuePairNumbersAreInNoGuessableOrder) {
  auto slot = Slot::acquire();
  ASSERT_TRUE(slot);
  constexpr size_t kSeen = 1000;
  std::map<uint32_t, size_t> steps;
  uint32_t last = slot->next_index();
  for (size_t i = 0; i < kSeen; ++i) {
    const uint32_t next = slot->next_index();
    ++steps[(next - last) % kQpIndices];
    last = next;
  }
  for (const auto& [step, times] : steps) EXPECT_LE(times, 5U) << "step " << step;
}

TEST(Slots, SpecialQueuePairNumbersAreNeverGiven) {
  if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  if (!may_have_descriptors(kDescriptorsOfAllSlots))
    GTEST_SKIP() << "may not have enough descriptors";
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < kSlots; ++i) {
    auto slot = Slot::acquire();
    ASSERT_TRUE(slot);
    slots.push_back(*std::move(slot));
  }
  for (Slot& slot : slots) {
    if (slot.number() != 0 && slot.number() != kSlots - 1) continue;
    for (uint32_t i = 0; i < kQpIndices; ++i) {
      const Qpn qpn = slot.next_qpn();
      ASSERT_GT(qpn.value(), 1U);
      ASSERT_NE(qpn.value(), kMulticastQpn);
      ASSERT_EQ(slot_of(qpn), slot.number());
    }
  }
}

}  // namespace
}  // namespace urxe::test::slots_test
