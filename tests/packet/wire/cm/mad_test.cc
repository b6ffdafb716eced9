// SPDX-License-Identifier: BSD-2-Clause
// The common MAD header (IBTA vol. 1, 13.4.3).
#include "packet/wire/cm/mad.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace urxe::test {
namespace {

constexpr MadHeader kHeader{.base_version = 0x01,
                            .management_class = 0x12,
                            .class_version = 0x23,
                            .method = 0x83,
                            .status = 0x4556,
                            .class_specific = 0x6778,
                            .transaction_id = 0x899aabbccddeeff0,
                            .attribute_id = 0xfedc,
                            .attribute_modifier = 0xba987654};
constexpr uint8_t kBytes[kMadHeaderBytes] = {0x01, 0x12, 0x23, 0x83, 0x45, 0x56, 0x67, 0x78,
                                             0x89, 0x9a, 0xab, 0xbc, 0xcd, 0xde, 0xef, 0xf0,
                                             0xfe, 0xdc, 0x00, 0x00, 0xba, 0x98, 0x76, 0x54};

TEST(MadHeader, IsReadFromItsBytes) {
  MadBytes mad;
  mad.fill(0xff);
  std::copy(std::begin(kBytes), std::end(kBytes), mad.begin());
  EXPECT_EQ(read_mad_header(mad), kHeader);
  mad[18] = mad[19] = 0xff;  // reserved
  EXPECT_EQ(read_mad_header(mad), kHeader);
}

TEST(MadHeader, IsWrittenToItsBytesAndNoFurther) {
  MadBytes mad;
  mad.fill(0xee);
  write_mad_header(kHeader, mad);
  EXPECT_TRUE(std::equal(std::begin(kBytes), std::end(kBytes), mad.begin()));
  EXPECT_TRUE(std::all_of(mad.begin() + kMadHeaderBytes, mad.end(),
                          [](uint8_t byte) { return byte == 0xee; }));
}

TEST(MadHeader, IsThatOfACommunicationManagersMessageByDefault) {
  MadBytes mad{};
  write_mad_header(MadHeader{}, mad);
  EXPECT_EQ((std::array<uint8_t, 4>{mad[0], mad[1], mad[2], mad[3]}),
            (std::array<uint8_t, 4>{1, 7, 2, 3}));
}

}  // namespace
}  // namespace urxe::test
