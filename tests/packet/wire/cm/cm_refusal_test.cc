// SPDX-License-Identifier: BSD-2-Clause
// Bytes that are not a message of the communication manager, and the reason for dropping each.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "packet/wire/cm/cm_message.h"
#include "tests/packet/wire/cm/cm_oracle.h"

namespace urxe::test {
namespace {

/// nullopt: accepted.
std::optional<MadDropReason> refusal(std::span<const uint8_t> mad) {
  const auto message = parse_cm_message(mad);
  if (message) return std::nullopt;
  return message.error();
}

TEST(CmRefusal, EveryLengthButThatOfAMad) {
  for (const CmAttribute attribute : kEveryCmAttribute) {
    const MadBytes mad = blank_mad(attribute, 0);
    std::vector<uint8_t> bytes(mad.begin(), mad.end());
    bytes.resize(4096);
    for (size_t size = 0; size <= bytes.size(); ++size) {
      const auto expected =
          size == kMadBytes ? std::nullopt : std::optional(MadDropReason::kLength);
      // A copy of just its size, so that a sanitizer sees every read beyond it.
      const std::vector<uint8_t> exact(bytes.begin(), bytes.begin() + static_cast<long>(size));
      ASSERT_EQ(refusal(exact), expected) << cm_attribute_name(attribute) << ' ' << size;
    }
  }
}

TEST(CmRefusal, EveryOtherValueOfTheHeadersFields) {
  constexpr struct {
    size_t byte;
    uint8_t legal;
    MadDropReason reason;
  } kFields[] = {{0, 1, MadDropReason::kVersion},
                 {1, 7, MadDropReason::kClass},
                 {2, 2, MadDropReason::kVersion},
                 {3, 3, MadDropReason::kMethod}};
  for (const auto& field : kFields) {
    for (int value = 0; value < 256; ++value) {
      MadBytes mad = blank_mad(CmAttribute::kRtu, 0);
      mad[field.byte] = static_cast<uint8_t>(value);
      const auto expected = value == field.legal ? std::nullopt : std::optional(field.reason);
      EXPECT_EQ(refusal(mad), expected) << "byte " << field.byte << " value " << value;
    }
  }
}

TEST(CmRefusal, EveryAttributeThatIsNotOne) {
  for (unsigned attribute = 0; attribute <= 0xffff; ++attribute) {
    MadBytes mad = blank_mad(CmAttribute::kReq, 0);
    mad[16] = static_cast<uint8_t>(attribute >> 8);
    mad[17] = static_cast<uint8_t>(attribute);
    const bool known = attribute >= 0x10 && attribute <= 0x1a;
    ASSERT_EQ(refusal(mad), known ? std::nullopt : std::optional(MadDropReason::kUnknownAttribute))
        << attribute;
    if (!known) continue;
    EXPECT_EQ(static_cast<unsigned>(attribute_of(parse_cm_message(mad)->body)), attribute);
  }
}

// Status, class specific and reserved bytes are the sender's affair.
TEST(CmRefusal, NothingElseInTheHeader) {
  MadBytes mad = blank_mad(CmAttribute::kRtu, 0);
  for (const size_t byte : {4, 5, 6, 7, 18, 19, 20, 21, 22, 23}) mad[byte] = 0xff;
  EXPECT_EQ(refusal(mad), std::nullopt);
}

TEST(CmRefusal, AnMraOrRejOfNoMessage) {
  for (const CmAttribute attribute : kEveryCmAttribute) {
    const auto byte = oracle_answered(attribute);
    if (!byte) continue;
    for (int value = 0; value < 256; ++value) {
      MadBytes mad = blank_mad(attribute, 0);
      mad[kMadHeaderBytes + *byte] = static_cast<uint8_t>(value);
      EXPECT_EQ(refusal(mad),
                value >> 6 == 3 ? std::optional(MadDropReason::kMalformed) : std::nullopt)
          << cm_attribute_name(attribute) << ' ' << value;
    }
  }
}

const CmBytes<72>& information_of(const CmMessage& message) {
  if (const auto* rej = std::get_if<CmRej>(&message.body)) return rej->additional_info;
  if (const auto* apr = std::get_if<CmApr>(&message.body)) return apr->additional_info;
  return std::get<CmSidrRep>(message.body).additional_info;
}

// Expect: as many bytes as the length says, then zeros; a length that is too large is refused.
TEST(CmRefusal, MoreAdditionalInformationThanThereIsRoomFor) {
  for (const CmAttribute attribute : kEveryCmAttribute) {
    const auto length = oracle_length(attribute);
    if (!length) continue;
    for (size_t value = 0; value < size_t{1} << length->bits; ++value) {
      SCOPED_TRACE(std::string(cm_attribute_name(attribute)) + " " + std::to_string(value));
      MadBytes mad = blank_mad(attribute, 0xa5);
      mad[kMadHeaderBytes + length->byte] = static_cast<uint8_t>(value << (8 - length->bits));
      const auto message = parse_cm_message(mad);
      ASSERT_EQ(message.has_value(), value <= length->capacity);
      if (!message) {
        EXPECT_EQ(message.error(), MadDropReason::kMalformed);
        continue;
      }
      CmBytes<72> expected;
      expected.assign(std::vector<uint8_t>(value, 0xa5));
      EXPECT_EQ(information_of(*message), expected);
      EXPECT_EQ(parse_cm_message(emit_cm_message(*message)), message);
    }
  }
}

TEST(MadDropReasons, HaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(MadDropReason::kCount); ++i) {
    const std::string name = mad_drop_reason_name(static_cast<MadDropReason>(i));
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    names.push_back(name);
  }
  EXPECT_EQ(names[static_cast<size_t>(MadDropReason::kWrongPeer)], "wrong_peer");
  EXPECT_EQ(names.back(), "unknown");
}

TEST(CmAttributes, HaveTheSpecificationsNames) {
  std::string names;
  for (const CmAttribute attribute : kEveryCmAttribute) {
    names += std::string(cm_attribute_name(attribute)) + " ";
  }
  EXPECT_EQ(names, "REQ MRA REJ REP RTU DREQ DREP SIDR_REQ SIDR_REP LAP APR ");
  EXPECT_STREQ(cm_attribute_name(static_cast<CmAttribute>(0x1b)), "unknown");
}

}  // namespace
}  // namespace urxe::test
