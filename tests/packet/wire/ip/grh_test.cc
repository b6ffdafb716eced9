// SPDX-License-Identifier: BSD-2-Clause
// The GRH area of datagrams (IBTA annex A17.4.5.1).
#include "packet/wire/ip/grh.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "packet/wire/tx_batch.h"

namespace urxe::test::grh_test {
namespace {

constexpr uint8_t kSource[4] = {192, 168, 0, 7};
constexpr uint8_t kDestination[4] = {10, 1, 2, 3};

uint32_t sum_of_words(const uint8_t* bytes, size_t count) {
  uint32_t sum = 0;
  for (size_t i = 0; i < count; i += 2) sum += (uint32_t{bytes[i]} << 8) | bytes[i + 1];
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(Grh, Ipv4) {
  Flow flow;
  flow.source = Gid::from_ipv4(kSource);
  flow.destination = Gid::from_ipv4(kDestination);
  flow.traffic_class = 0x2a;
  flow.hop_limit = 63;
  const auto grh = make_grh(flow, 0x1234, 100);
  EXPECT_EQ(std::vector<uint8_t>(grh.begin(), grh.begin() + 20), std::vector<uint8_t>(20));
  const uint8_t* ip = grh.data() + 20;
  const std::vector<uint8_t> expected = {0x45, 0x2a, 0, 128, 0x12, 0x34, 0x40, 0, 63, 17};
  EXPECT_EQ(std::vector<uint8_t>(ip, ip + 10), expected);
  EXPECT_EQ(std::memcmp(ip + 12, kSource, 4), 0);
  EXPECT_EQ(std::memcmp(ip + 16, kDestination, 4), 0);
  EXPECT_EQ(sum_of_words(ip, 20), 0xffffU);  // RFC 791: with its checksum the header sums to ones
}

TEST(Grh, Ipv6) {
  Flow flow;
  flow.source.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8};
  flow.destination.bytes = {0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
  flow.traffic_class = 0xa5;
  flow.hop_limit = 255;
  flow.flow_label = 0xc1234;
  const auto grh = make_grh(flow, 0, 300);
  const std::vector<uint8_t> expected = {0x6a, 0x5c, 0x12, 0x34, 308 >> 8, 308 & 0xff, 17, 255};
  EXPECT_EQ(std::vector<uint8_t>(grh.begin(), grh.begin() + 8), expected);
  EXPECT_EQ(std::memcmp(grh.data() + 8, flow.source.bytes.data(), 16), 0);
  EXPECT_EQ(std::memcmp(grh.data() + 24, flow.destination.bytes.data(), 16), 0);
}

// Expect: parse() finds the identification, whether the engine saw it or not.
TEST(Grh, IdentificationOfAParsedPacket) {
  Flow flow;
  flow.source = Gid::from_ipv4(kSource);
  flow.destination = Gid::from_ipv4(kDestination);
  TxBatch::Limits limits;
  limits.segments_per_message = 8;
  limits.identification = Identification::kBySegment;
  TxBatch batch(limits);
  for (int i = 0; i < 3; ++i) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kUd, Operation::kSendOnly);
    ASSERT_NE(batch.append(flow, headers, 0), nullptr);
    batch.commit();
  }
  ASSERT_EQ(batch.messages().size(), 1U);
  const TxBatch::Message& message = batch.messages()[0];
  for (uint16_t i = 0; i < 3; ++i) {
    const auto bytes = batch.bytes(message).subspan(i * message.segment_size, message.segment_size);
    const auto unseen = parse({bytes, flow, std::nullopt});
    ASSERT_TRUE(unseen);
    EXPECT_EQ(unseen->ipv4_identification, i);
    const auto seen = parse({bytes, flow, i});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->ipv4_identification, i);
  }
}

}  // namespace
}  // namespace urxe::test::grh_test
