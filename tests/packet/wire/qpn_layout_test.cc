// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/qpn_layout.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

TEST(QpnLayout, TheSlotIsTheUpperNineBits) {
  EXPECT_EQ(kSlots, 512U);
  EXPECT_EQ(kQpIndices, 32768U);
  EXPECT_EQ(make_qpn(0x1a5, 0x1234), Qpn(0xd29234));
  EXPECT_EQ(slot_of(Qpn(0xd29234)), 0x1a5U);
  EXPECT_EQ(index_of(Qpn(0xd29234)), 0x1234U);
}

TEST(QpnLayout, SlotAndIndexDoNotMix) {
  for (const uint32_t slot : {0U, 1U, kSlots - 1}) {
    for (const uint32_t index : {0U, 1U, kQpIndices - 1}) {
      const Qpn qpn = make_qpn(slot, index);
      EXPECT_LT(qpn.value(), 1U << kQpnBits);
      EXPECT_EQ(slot_of(qpn), slot);
      EXPECT_EQ(index_of(qpn), index);
    }
  }
}

}  // namespace
}  // namespace urxe::test
