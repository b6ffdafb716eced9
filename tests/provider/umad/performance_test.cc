// SPDX-License-Identifier: BSD-2-Clause
// The performance management agent (IBTA vol. 1, 16.1.3). The offsets are the specification's.
#include "provider/umad/performance.h"

#include <gtest/gtest.h>

#include <string_view>

#include "packet/base/bytes.h"
#include "provider/umad/management.h"

namespace urxe::umad {
namespace {

constexpr uint16_t kPortCounters = 0x12;
constexpr uint16_t kExtended = 0x1d;
constexpr size_t kData = 64;

struct RequestFields {
  uint8_t method = kMethodGet;
  uint16_t attribute = kPortCounters;
  uint8_t port = 1;
  uint8_t class_version = 1;
};

MadBytes request(const RequestFields& fields) {
  MadBytes mad{};
  write_mad_header({.management_class = kPerformance,
                    .class_version = fields.class_version,
                    .method = fields.method,
                    .transaction_id = 0x0102030405060708,
                    .attribute_id = fields.attribute},
                   mad);
  mad[kData + 1] = fields.port;
  return mad;
}

/// Each counter of the port has a value of its own.
CounterSums numbered() {
  CounterSums sums{};
  for (size_t i = 0; i < kPortCounterNames.size(); ++i) sums[i] = i + 1;
  return sums;
}
uint64_t number_of(std::string_view name) {
  const auto found = std::ranges::find(kPortCounterNames, name);
  return static_cast<uint64_t>(found - kPortCounterNames.begin()) + 1;
}

MadBytes answer(const RequestFields& fields, const CounterSums& sums = numbered()) {
  return answer_performance(request(fields), sums).value();
}
uint16_t status_of(const RequestFields& fields) {
  return read_mad_header(answer(fields)).status;
}

TEST(Performance, PortCountersHaveTheirPlaces) {
  const MadBytes response = answer({});
  const MadHeader header = read_mad_header(response);
  EXPECT_EQ(header.method, kMethodGetResp);
  EXPECT_EQ(header.status, 0);
  EXPECT_EQ(header.transaction_id, 0x0102030405060708U);
  const uint8_t* const data = response.data() + kData;
  EXPECT_EQ(data[1], 1);
  EXPECT_EQ(load_be16(data + 4), number_of("symbol_error"));
  EXPECT_EQ(data[6], number_of("link_error_recovery"));
  EXPECT_EQ(data[7], number_of("link_downed"));
  EXPECT_EQ(load_be16(data + 8), number_of("port_rcv_errors"));
  EXPECT_EQ(load_be16(data + 14), number_of("port_xmit_discards"));
  EXPECT_EQ(load_be32(data + 24), number_of("port_xmit_data"));
  EXPECT_EQ(load_be32(data + 28), number_of("port_rcv_data"));
  EXPECT_EQ(load_be32(data + 32), number_of("port_xmit_packets"));
  EXPECT_EQ(load_be32(data + 36), number_of("port_rcv_packets"));
  EXPECT_EQ(load_be32(data + 40), number_of("port_xmit_wait"));
}

TEST(Performance, ExtendedCountersHaveTheirPlaces) {
  const MadBytes response = answer({.attribute = kExtended});
  const uint8_t* const data = response.data() + kData;
  EXPECT_EQ(load_be64(data + 8), number_of("port_xmit_data"));
  EXPECT_EQ(load_be64(data + 16), number_of("port_rcv_data"));
  EXPECT_EQ(load_be64(data + 40), number_of("unicast_xmit_packets"));
  EXPECT_EQ(load_be64(data + 64), number_of("multicast_rcv_packets"));
  EXPECT_EQ(load_be64(data + 72), number_of("symbol_error"));
  EXPECT_EQ(load_be64(data + 120), number_of("port_xmit_discards"));
  EXPECT_EQ(load_be64(data + 168), number_of("port_xmit_wait"));
}

// 16.1.3.5: a counter stays at the largest value that its field has.
TEST(Performance, CountersStayAtTheLargestValue) {
  CounterSums sums{};
  sums.fill(uint64_t{1} << 40);
  const MadBytes response = answer({}, sums);
  const uint8_t* const data = response.data() + kData;
  EXPECT_EQ(load_be16(data + 4), 0xffff);
  EXPECT_EQ(data[7], 0xff);
  EXPECT_EQ(data[19], 0xff) << "two fields of four bits";
  EXPECT_EQ(load_be32(data + 24), 0xffffffff);
  const MadBytes extended = answer({.attribute = kExtended}, sums);
  EXPECT_EQ(load_be64(extended.data() + kData + 8), uint64_t{1} << 40);
}

TEST(Performance, DroppedMadsAreThoseOfAllReasons) {
  CounterSums sums{};
  sums[drop_counter_column(MadDropReason::kLength)] = 2;
  sums[drop_counter_column(MadDropReason::kOverQuota)] = 3;
  EXPECT_EQ(load_be16(answer({}, sums).data() + kData + 20), 5);
  EXPECT_EQ(load_be64(answer({.attribute = kExtended}, sums).data() + kData + 176), 5U);
}

TEST(Performance, ClassPortInfoSaysWhatThereIs) {
  const MadBytes response = answer({.attribute = kClassPortInfo, .port = 0});
  const uint8_t* const data = response.data() + kData;
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data[1], 1);
  EXPECT_EQ(load_be16(data + 2), 0x1300);
  EXPECT_EQ(load_be32(data + 4) >> 5, 2U);
}

TEST(Performance, OtherPortsAttributesAndVersionsAreRefused) {
  EXPECT_EQ(status_of({.port = 0xff}), 0);
  EXPECT_EQ(status_of({.port = 2}), kStatusInvalidValue);
  EXPECT_EQ(status_of({.port = 0}), kStatusInvalidValue);
  EXPECT_EQ(status_of({.attribute = 0x10}), kStatusUnsupportedAttribute);
  EXPECT_EQ(status_of({.class_version = 2}), kStatusBadVersion);
}

TEST(Performance, CountersAreNotReset) {
  EXPECT_EQ(status_of({.method = kMethodSet}), kStatusUnsupportedAttribute);
  EXPECT_TRUE(asks_for_reset(request({.method = kMethodSet})));
  EXPECT_FALSE(asks_for_reset(request({})));
}

TEST(Performance, ResponsesAreNotAnswered) {
  EXPECT_FALSE(answer_performance(request({.method = kMethodGetResp}), numbered()));
  EXPECT_FALSE(answer_performance(request({.method = 0x07}), numbered()));
}

}  // namespace
}  // namespace urxe::umad
