// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/aeth_syndrome.h"

#include <gtest/gtest.h>

#include <array>

namespace urxe {
namespace {

TEST(AethSyndrome, KindIsTheUpperThreeBits) {
  EXPECT_EQ(ack_kind(0x00), AckKind::kAck);
  EXPECT_EQ(ack_kind(0x1f), AckKind::kAck);
  EXPECT_EQ(ack_kind(0x20), AckKind::kRnrNak);
  EXPECT_EQ(ack_kind(0x3f), AckKind::kRnrNak);
  EXPECT_EQ(ack_kind(0x40), AckKind::kReserved);
  EXPECT_EQ(ack_kind(0x60), AckKind::kNak);
  EXPECT_EQ(ack_kind(0x7f), AckKind::kNak);
  EXPECT_EQ(ack_kind(0x80), AckKind::kReserved);
  EXPECT_EQ(ack_kind(0xff), AckKind::kReserved);
}

TEST(AethSyndrome, CodesOnTheWire) {
  EXPECT_EQ(nak_syndrome(NakCode::kPsnSequenceError), 0x60);
  EXPECT_EQ(nak_syndrome(NakCode::kInvalidRequest), 0x61);
  EXPECT_EQ(nak_syndrome(NakCode::kRemoteAccessError), 0x62);
  EXPECT_EQ(nak_syndrome(NakCode::kRemoteOperationalError), 0x63);
  EXPECT_EQ(rnr_syndrome(20), 0x34);
  EXPECT_EQ(syndrome_value(0x34), 20);
}

TEST(AethSyndrome, RnrTimersAreTable45) {
  constexpr std::array<double, 32> kMilliseconds = {
      655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,  0.32,
      0.48,   0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24, 15.36,
      20.48,  30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};
  for (uint8_t code = 0; code < 32; ++code) {
    EXPECT_NEAR(static_cast<double>(rnr_timer(code).ns), kMilliseconds.at(code) * 1e6, 0.5)
        << unsigned{code};
  }
  EXPECT_EQ(rnr_timer(0x20), rnr_timer(0)) << "only five bits count";
}

TEST(AethSyndrome, CreditsGrowByHalvesOfPowersOfTwo) {
  // Table 44: 0, 1, 2, 3, then 2^k and 1.5 * 2^k in turn.
  uint32_t power = 2;
  for (uint8_t code = 2; code <= 30; code += 2) {
    EXPECT_EQ(credits_from_code(code), power) << unsigned{code};
    if (code < 30) {
      EXPECT_EQ(credits_from_code(static_cast<uint8_t>(code + 1)), power * 3 / 2) << unsigned{code};
    }
    power *= 2;
  }
  EXPECT_EQ(credits_from_code(0), 0U);
  EXPECT_EQ(credits_from_code(1), 1U);
  EXPECT_EQ(credits_from_code(30), 32768U);
  EXPECT_EQ(credits_from_code(kAckNoCredits), std::nullopt);
}

TEST(AethSyndrome, CreditCodeNeverPromisesTooMuch) {
  for (uint32_t receives = 0; receives < 40000; ++receives) {
    const uint8_t code = credit_code(receives);
    ASSERT_LE(code, 30);
    ASSERT_LE(*credits_from_code(code), receives);
    if (code < 30) {
      ASSERT_GT(*credits_from_code(static_cast<uint8_t>(code + 1)), receives);
    }
  }
  EXPECT_EQ(credit_code(0xffffffff), 30);
}

}  // namespace
}  // namespace urxe
