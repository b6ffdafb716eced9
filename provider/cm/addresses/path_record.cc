// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/path_record.h"

#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace urxe::cm {
namespace {

/// The selector "exactly" of MTU, rate and life time.
constexpr uint8_t kExactly = 2;
constexpr uint8_t kSelectorShift = 6;
constexpr uint8_t kSelected = 0x3f;
constexpr uint32_t kFlowLabel = 0xfffff;

/// A path record on the wire.
struct Record {
  uint64_t service_id;
  uint8_t dgid[16];
  uint8_t sgid[16];
  uint16_t dlid;
  uint16_t slid;
  uint32_t flow_label_hop_limit;
  uint8_t traffic_class;
  uint8_t reversible_paths;
  uint16_t pkey;
  uint16_t qos_class_sl;
  uint8_t mtu;
  uint8_t rate;
  uint8_t packet_lifetime;
  uint8_t preference;
  uint8_t reserved[6];
};
static_assert(sizeof(Record) == sizeof(ib_path_rec_data::path_rec));
static_assert(offsetof(Record, preference) == 57);

constexpr uint8_t exactly(uint8_t value) {
  return static_cast<uint8_t>(kExactly << kSelectorShift | (value & kSelected));
}

bool serves_both_ways(uint32_t flags) {
  return flags == (IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL);
}

Path path_of(const Record& record) {
  Path path;
  path.service_id = be64toh(record.service_id);
  std::copy_n(record.sgid, path.local.bytes.size(), path.local.bytes.begin());
  std::copy_n(record.dgid, path.remote.bytes.size(), path.remote.bytes.begin());
  const uint32_t flow = be32toh(record.flow_label_hop_limit);
  path.flow_label = flow >> 8 & kFlowLabel;
  path.hop_limit = static_cast<uint8_t>(flow);
  path.traffic_class = record.traffic_class;
  path.sl = be16toh(record.qos_class_sl) & 0xf;
  path.pkey = PKey(be16toh(record.pkey));
  path.mtu = record.mtu & kSelected;
  path.rate = record.rate & kSelected;
  path.packet_lifetime = record.packet_lifetime & kSelected;
  return path;
}

}  // namespace

ib_user_path_rec to_user_path(const Path& path) {
  ib_user_path_rec record{};
  std::copy(path.remote.bytes.begin(), path.remote.bytes.end(), record.dgid);
  std::copy(path.local.bytes.begin(), path.local.bytes.end(), record.sgid);
  record.flow_label = htobe32(path.flow_label & kFlowLabel);
  record.reversible = 1;
  record.mtu = path.mtu;
  record.pkey = htobe16(path.pkey.value());
  record.hop_limit = path.hop_limit;
  record.traffic_class = path.traffic_class;
  record.numb_path = 1;
  record.sl = path.sl;
  record.mtu_selector = kExactly;
  record.rate_selector = kExactly;
  record.rate = path.rate;
  record.packet_life_time_selector = kExactly;
  record.packet_life_time = path.packet_lifetime;
  return record;
}

ib_path_rec_data to_path_data(const Path& path) {
  Record record{};
  record.service_id = htobe64(path.service_id);
  std::copy(path.remote.bytes.begin(), path.remote.bytes.end(), record.dgid);
  std::copy(path.local.bytes.begin(), path.local.bytes.end(), record.sgid);
  record.flow_label_hop_limit = htobe32((path.flow_label & kFlowLabel) << 8 | path.hop_limit);
  record.traffic_class = path.traffic_class;
  record.reversible_paths = 0x80 | 1;
  record.pkey = htobe16(path.pkey.value());
  record.qos_class_sl = htobe16(path.sl & 0xf);
  record.mtu = exactly(path.mtu);
  record.rate = exactly(path.rate);
  record.packet_lifetime = exactly(path.packet_lifetime);
  ib_path_rec_data data{};
  data.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
  std::memcpy(data.path_rec, &record, sizeof record);
  return data;
}

Expected<Path, Errno> read_path_option(std::span<const uint8_t> value) {
  if (value.size() % sizeof(ib_path_rec_data) != 0) return error(EINVAL);
  for (; !value.empty(); value = value.subspan(sizeof(ib_path_rec_data))) {
    ib_path_rec_data data;
    std::memcpy(&data, value.data(), sizeof data);
    if (!serves_both_ways(data.flags)) continue;
    Record record;
    std::memcpy(&record, data.path_rec, sizeof record);
    return path_of(record);
  }
  return error(EINVAL);
}

uint8_t rate_of(uint32_t speed_mbps) {
  if (speed_mbps >= 40000) return IBV_RATE_40_GBPS;
  if (speed_mbps >= 30000) return IBV_RATE_30_GBPS;
  if (speed_mbps >= 20000) return IBV_RATE_20_GBPS;
  if (speed_mbps >= 10000) return IBV_RATE_10_GBPS;
  return IBV_RATE_MAX;
}

}  // namespace urxe::cm
