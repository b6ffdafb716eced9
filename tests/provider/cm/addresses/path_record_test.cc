// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/path_record.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace urxe::cm {
namespace {

Path sample_path() {
  Path path;
  path.service_id = 0x0000000001061d2fULL;
  path.local.bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  path.remote.bytes = {17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
  path.flow_label = 0xabcde;
  path.hop_limit = 64;
  path.traffic_class = 0x68;
  path.sl = 5;
  path.mtu = IBV_MTU_4096;
  path.rate = IBV_RATE_10_GBPS;
  path.packet_lifetime = 16;
  return path;
}

std::vector<uint8_t> option_of(std::initializer_list<ib_path_rec_data> records) {
  std::vector<uint8_t> bytes(records.size() * sizeof(ib_path_rec_data));
  size_t at = 0;
  for (const ib_path_rec_data& record : records) {
    std::memcpy(bytes.data() + at, &record, sizeof record);
    at += sizeof record;
  }
  return bytes;
}

TEST(PathRecord, IsAsOnTheWire) {
  const ib_path_rec_data data = to_path_data(sample_path());
  uint8_t bytes[64];
  std::memcpy(bytes, data.path_rec, sizeof bytes);
  EXPECT_EQ(data.flags, 0x2bU) << "GMP, primary, both ways";
  EXPECT_EQ(bytes[7], 0x2f);
  EXPECT_EQ(bytes[8], 17) << "destination first";
  EXPECT_EQ(bytes[24], 1);
  const uint8_t flow[4] = {0x0a, 0xbc, 0xde, 64};
  EXPECT_EQ(std::memcmp(bytes + 44, flow, sizeof flow), 0);
  EXPECT_EQ(bytes[48], 0x68);
  EXPECT_EQ(bytes[49], 0x81) << "reversible, one path";
  EXPECT_EQ(bytes[50], 0xff);
  EXPECT_EQ(bytes[53], 5);
  EXPECT_EQ(bytes[54], 0x80 | IBV_MTU_4096) << "exactly";
  EXPECT_EQ(bytes[55], 0x80 | IBV_RATE_10_GBPS);
  EXPECT_EQ(bytes[56], 0x80 | 16);
}

TEST(PathRecord, AnOptionsValueIsReadBack) {
  const Path path = sample_path();
  const auto read = read_path_option(option_of({to_path_data(path)}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->service_id, path.service_id);
  EXPECT_EQ(read->local, path.local);
  EXPECT_EQ(read->remote, path.remote);
  EXPECT_EQ(read->flow_label, path.flow_label);
  EXPECT_EQ(read->hop_limit, path.hop_limit);
  EXPECT_EQ(read->traffic_class, path.traffic_class);
  EXPECT_EQ(read->sl, path.sl);
  EXPECT_EQ(read->mtu, path.mtu);
  EXPECT_EQ(read->rate, path.rate);
  EXPECT_EQ(read->packet_lifetime, path.packet_lifetime);
}

TEST(PathRecord, AnOptionsFirstRecordForBothWaysCounts) {
  Path other = sample_path();
  other.traffic_class = 1;
  ib_path_rec_data outbound = to_path_data(other);
  outbound.flags = IB_PATH_GMP | IB_PATH_OUTBOUND;
  const auto read = read_path_option(option_of({outbound, to_path_data(sample_path())}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->traffic_class, 0x68);
}

TEST(PathRecord, AnOptionWithoutSuchARecordIsRefused) {
  ib_path_rec_data outbound = to_path_data(sample_path());
  outbound.flags = IB_PATH_OUTBOUND;
  EXPECT_EQ(read_path_option(option_of({outbound})).error().value, EINVAL);
  EXPECT_EQ(read_path_option({}).error().value, EINVAL);
}

TEST(PathRecord, AnOptionOfHalfARecordIsRefused) {
  auto bytes = option_of({to_path_data(sample_path())});
  bytes.pop_back();
  EXPECT_EQ(read_path_option(bytes).error().value, EINVAL);
}

TEST(PathRecord, AUserPathHasHostOrderWhereTheAbiDoes) {
  const ib_user_path_rec record = to_user_path(sample_path());
  EXPECT_EQ(record.dgid[0], 17);
  EXPECT_EQ(record.sgid[0], 1);
  EXPECT_EQ(record.flow_label, htonl(0xabcde));
  EXPECT_EQ(record.pkey, 0xffff);
  EXPECT_EQ(record.mtu, static_cast<uint32_t>(IBV_MTU_4096));
  EXPECT_EQ(record.reversible, 1U);
  EXPECT_EQ(record.numb_path, 1);
  EXPECT_EQ(record.hop_limit, 64);
  EXPECT_EQ(record.packet_life_time, 16);
}

TEST(PathRecord, RatesAreThoseOfLinux) {
  EXPECT_EQ(rate_of(1000), IBV_RATE_MAX);
  EXPECT_EQ(rate_of(10000), IBV_RATE_10_GBPS);
  EXPECT_EQ(rate_of(25000), IBV_RATE_20_GBPS);
  EXPECT_EQ(rate_of(100000), IBV_RATE_40_GBPS);
}

}  // namespace
}  // namespace urxe::cm
