// SPDX-License-Identifier: BSD-2-Clause
// The fields of the communication manager's messages (IBTA vol. 1, 12.6, 12.8, 12.11) against the
// oracle's idea of where they are.
#include "packet/wire/cm/cm_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "packet/wire/cm/cm_layout.h"
#include "tests/packet/wire/cm/cm_oracle.h"

namespace urxe::test {
namespace {

constexpr size_t kBodyBits = (kMadBytes - kMadHeaderBytes) * 8;

std::span<const uint8_t> body_of(const MadBytes& mad) {
  return std::span(mad).subspan(kMadHeaderBytes);
}

/// Makes fields of a limited range legal.
void legalize(MadBytes& mad, CmAttribute attribute) {
  if (const auto length = oracle_length(attribute)) {
    mad[kMadHeaderBytes + length->byte] =
        static_cast<uint8_t>(length->capacity << (8 - length->bits));
  }
  if (const auto answered = oracle_answered(attribute)) {
    uint8_t& byte = mad[kMadHeaderBytes + *answered];
    if (byte >> 6 == 3) byte &= 0xbf;
  }
}

CmMessage parsed(const MadBytes& mad) {
  const auto message = parse_cm_message(mad);
  EXPECT_TRUE(message) << mad_drop_reason_name(message.error());
  return message.value_or(CmMessage{});
}

class CmFields : public testing::TestWithParam<CmAttribute> {
 protected:
  MadBytes random_mad() {
    MadBytes mad = blank_mad(GetParam(), 0);
    for (size_t i = kMadHeaderBytes; i < mad.size(); ++i) mad[i] = static_cast<uint8_t>(random_());
    legalize(mad, GetParam());
    return mad;
  }
  [[nodiscard]] std::vector<OracleField> fields() const { return oracle_fields(GetParam()); }
  /// Of each bit of the body, whether it says something.
  [[nodiscard]] std::vector<bool> meaningful() const {
    std::vector<bool> bits(kBodyBits, false);
    const auto mark = [&](size_t byte, size_t bit, size_t count) {
      std::fill_n(bits.begin() + static_cast<std::ptrdiff_t>(byte * 8 + bit), count, true);
    };
    for (const OracleField& field : fields()) {
      if (field.kept) mark(field.byte, field.bit, field.bits);
    }
    if (const auto length = oracle_length(GetParam())) mark(length->byte, 0, length->bits);
    return bits;
  }

 private:
  std::mt19937 random_{20};
};

void expect_fields_read(const std::vector<OracleField>& fields, const MadBytes& mad) {
  const CmMessage message = parsed(mad);
  EXPECT_EQ(message.transaction_id, 0x0102030405060708U);
  for (const OracleField& field : fields) {
    if (!field.kept) continue;
    EXPECT_EQ(field.value(message.body), bits_of(body_of(mad), field.byte, field.bit, field.bits))
        << field.name;
  }
}

TEST_P(CmFields, EachIsReadFromItsPlace) {
  for (int i = 0; i < 100; ++i) expect_fields_read(fields(), random_mad());
}

TEST_P(CmFields, EachMayBeAllOnes) {
  MadBytes mad = blank_mad(GetParam(), 0xff);
  legalize(mad, GetParam());
  expect_fields_read(fields(), mad);
  EXPECT_EQ(attribute_of(parsed(mad).body), GetParam());
}

TEST_P(CmFields, EachMayBeZero) {
  const CmMessage message = parsed(blank_mad(GetParam(), 0));
  for (const OracleField& field : fields()) {
    // Without an alternate path its fields have no values.
    if (GetParam() == CmAttribute::kReq && field.byte >= 96 && field.byte < 140) continue;
    if (!field.kept) continue;
    EXPECT_EQ(field.value(message.body), binary(0, field.bits)) << field.name;
  }
}

TEST_P(CmFields, EachIsWrittenToItsPlaceAndNothingElseIs) {
  for (int i = 0; i < 100; ++i) {
    const CmMessage message = parsed(random_mad());
    const MadBytes mad = emit_cm_message(message);
    EXPECT_EQ(bits_of(mad, 0, 0, 192), bits_of(blank_mad(GetParam(), 0), 0, 0, 192)) << "header";
    std::string expected(kBodyBits, '0');
    for (const OracleField& field : fields()) {
      expected.replace(field.byte * 8 + field.bit, field.bits, field.value(message.body));
    }
    if (const auto length = oracle_length(GetParam())) {
      expected.replace(length->byte * 8, length->bits, binary(length->capacity, length->bits));
    }
    EXPECT_EQ(bits_of(mad, kMadHeaderBytes, 0, kBodyBits), expected);
  }
}

TEST_P(CmFields, AMessageComesBackAsItWas) {
  for (int i = 0; i < 100; ++i) {
    CmMessage message = parsed(random_mad());
    message.transaction_id = ~uint64_t{0} - static_cast<uint64_t>(i);
    EXPECT_EQ(parsed(emit_cm_message(message)), message);
  }
}

// Expect: one bit more or less matters in a field, and nowhere else.
TEST_P(CmFields, ReservedBitsDoNotDisturb) {
  const MadBytes mad = random_mad();
  const CmMessage message = parsed(mad);
  const std::vector<bool> meaningful = this->meaningful();
  for (size_t i = 0; i < kBodyBits; ++i) {
    MadBytes other = mad;
    other[kMadHeaderBytes + i / 8] ^= static_cast<uint8_t>(0x80 >> i % 8);
    const auto changed = parse_cm_message(other);
    EXPECT_EQ(changed && *changed == message, !meaningful[i])
        << "byte " << i / 8 << " bit " << i % 8;
  }
}

/// Sets every field to the largest value of its type.
struct Overfill {
  template <class T>
  void field(size_t, unsigned, T& value) {
    if constexpr (requires { value.value(); }) {
      value = T(static_cast<decltype(value.value())>(~uint64_t{0}));
    } else if constexpr (std::is_enum_v<T>) {
      value = T{std::numeric_limits<std::underlying_type_t<T>>::max()};
    } else {
      value = static_cast<T>(~uint64_t{0});
    }
  }
  template <class T>
  void bits(size_t, unsigned, unsigned, T& value) {
    field(0, 0, value);
  }
  template <class T>
  void limited(size_t, unsigned, unsigned, T& value, T) {
    field(0, 0, value);
  }
  void constant(size_t, unsigned, unsigned, uint64_t) {}
  void gid(size_t, Gid& gid) { gid.bytes.fill(0xff); }
  template <size_t N>
  void data(size_t, CmBytes<N>& bytes) {
    bytes.bytes.fill(0xff);
    bytes.size = 0xff;
  }
  template <size_t N>
  void counted(size_t, unsigned, size_t, CmBytes<N>& bytes) {
    data(0, bytes);
  }
  void scattered(const size_t (&)[3], uint32_t& value) { field(0, 0, value); }
  bool present(size_t, size_t, bool& value) { return value = true; }
};

TEST_P(CmFields, WhatIsTooWideIsCutAndDoesNotSpill) {
  CmMessage message = parsed(blank_mad(GetParam(), 0));
  std::visit(
      [](auto& body) {
        Overfill overfill;
        layout(overfill, body);
      },
      message.body);
  const MadBytes mad = emit_cm_message(message);
  const std::vector<bool> meaningful = this->meaningful();
  std::string expected(kBodyBits, '0');
  for (size_t i = 0; i < kBodyBits; ++i) expected[i] = meaningful[i] ? '1' : '0';
  for (const OracleField& field : fields()) {
    const std::string value = field.kept ? std::string(field.bits, '1') : field.value(message.body);
    expected.replace(field.byte * 8 + field.bit, field.bits, value);
  }
  if (const auto length = oracle_length(GetParam())) {
    expected.replace(length->byte * 8, length->bits, binary(length->capacity, length->bits));
  }
  EXPECT_EQ(bits_of(mad, kMadHeaderBytes, 0, kBodyBits), expected);
}

INSTANTIATE_TEST_SUITE_P(Cm, CmFields, testing::ValuesIn(kEveryCmAttribute),
                         [](const auto& attribute) {
                           std::string name = cm_attribute_name(attribute.param);
                           std::erase_if(name, [](char c) { return c == '_'; });
                           return name;
                         });

// Expect: a path is there when one of its GIDs is; else nothing of it is kept or sent.
TEST(CmReq, HasAnAlternatePathWhereOneOfItsGidsIsNotZero) {
  MadBytes mad = blank_mad(CmAttribute::kReq, 0);
  const size_t path = kMadHeaderBytes + 96;
  mad[path] = mad[path + 1] = 0xff;  // a LID
  mad[path + 41] = 3;                // hop limit
  const auto has_alternate = [&] { return std::get<CmReq>(parsed(mad).body).has_alternate; };
  EXPECT_FALSE(has_alternate());
  EXPECT_EQ(std::get<CmReq>(parsed(mad).body).alternate, CmPath{});
  for (const size_t byte : {size_t{4}, size_t{19}, size_t{20}, size_t{35}}) {
    mad[path + byte] = 1;
    EXPECT_TRUE(has_alternate()) << byte;
    EXPECT_EQ(std::get<CmReq>(parsed(mad).body).alternate.hop_limit, 3);
    mad[path + byte] = 0;
  }
}

TEST(CmReq, WithoutAlternatePathSendsZerosForIt) {
  CmReq req;
  req.alternate.local.bytes.fill(0xff);
  req.alternate.hop_limit = 255;
  const MadBytes mad = emit_cm_message({1, req});
  EXPECT_EQ(bits_of(mad, kMadHeaderBytes + 96, 0, 44 * 8), std::string(44 * 8, '0'));
}

TEST(CmPath, IsSubnetLocalWhereItsHopLimitSaysSo) {
  CmReq req;
  for (const int hop_limit : {0, 1, 2, 255}) {
    req.primary.hop_limit = static_cast<uint8_t>(hop_limit);
    const MadBytes mad = emit_cm_message({1, req});
    EXPECT_EQ(mad[kMadHeaderBytes + 94] & 8, hop_limit <= 1 ? 8 : 0) << hop_limit;
  }
}

TEST(CmEce, AttributeModifierTravelsInTheMadHeaderOfThreeMessages) {
  for (const CmAttribute attribute : kEveryCmAttribute) {
    MadBytes mad = blank_mad(attribute, 0);
    mad[20] = 0xfe, mad[21] = 0xdc, mad[22] = 0xba, mad[23] = 0x98;
    const bool carried = attribute == CmAttribute::kReq || attribute == CmAttribute::kRep ||
                         attribute == CmAttribute::kSidrRep;
    const MadBytes again = emit_cm_message(parsed(mad));
    EXPECT_EQ(bits_of(again, 20, 0, 32), binary(carried ? 0xfedcba98U : 0, 32))
        << cm_attribute_name(attribute);
  }
}

TEST(CmBytes, ShortPrivateDataIsFollowedByZerosAndReceivedAtItsFullLength) {
  CmRtu rtu;
  rtu.private_data.bytes.fill(0xee);  // no more than `size` of it is sent
  const std::vector<uint8_t> data = {1, 2, 3};
  rtu.private_data.size = 3;
  std::copy(data.begin(), data.end(), rtu.private_data.bytes.begin());
  const CmMessage message = parsed(emit_cm_message({1, rtu}));
  const auto view = std::get<CmRtu>(message.body).private_data.view();
  std::vector<uint8_t> expected(224, 0);
  std::copy(data.begin(), data.end(), expected.begin());
  EXPECT_EQ(std::vector<uint8_t>(view.begin(), view.end()), expected);
}

TEST(CmBytes, AssignCutsWhatDoesNotFitAndForgetsWhatWasThere) {
  CmBytes<4> bytes;
  bytes.assign(std::vector<uint8_t>{1, 2, 3, 4, 5});
  EXPECT_EQ(bytes.size, 4);
  EXPECT_EQ(bytes.bytes, (std::array<uint8_t, 4>{1, 2, 3, 4}));
  bytes.assign(std::vector<uint8_t>{9});
  EXPECT_EQ(bytes.size, 1);
  EXPECT_EQ(bytes.bytes, (std::array<uint8_t, 4>{9, 0, 0, 0}));
  bytes.assign({});
  EXPECT_TRUE(bytes.view().empty());
}

}  // namespace
}  // namespace urxe::test
