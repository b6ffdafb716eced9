// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/performance.h"

#include <algorithm>

#include "packet/base/bytes.h"
#include "provider/umad/management.h"

namespace urxe::umad {
namespace {

constexpr uint8_t kPerformanceVersion = 1;
constexpr uint16_t kPortCounters = 0x0012;
constexpr uint16_t kPortCountersExtended = 0x001d;
constexpr size_t kDataAt = 64;
constexpr uint8_t kPort = 1;
constexpr uint8_t kAllPorts = 0xff;

// Of ClassPortInfo:CapabilityMask and CapabilityMask2.
constexpr uint16_t kAllPortSelect = 1 << 8;
constexpr uint16_t kExtendedWidth = 1 << 9;
constexpr uint16_t kPortXmitWait = 1 << 12;
constexpr uint32_t kAdditionalExtended = 1 << 1;
constexpr unsigned kBehindResponseTime = 5;
constexpr uint8_t kResponseTime = 18;  // 4.096 us * 2^18: a second

uint64_t dropped_mads(const CounterSums& sums) {
  uint64_t dropped = 0;
  for (size_t reason = 0; reason < static_cast<size_t>(MadDropReason::kCount); ++reason) {
    dropped += sums[drop_counter_column(static_cast<MadDropReason>(reason))];
  }
  return dropped;
}

/// Counters stay at the largest value of their field.
template <unsigned kBits>
uint32_t clipped(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, (uint64_t{1} << kBits) - 1));
}
uint8_t as_8(uint64_t value) {
  return static_cast<uint8_t>(clipped<8>(value));
}
void store_16(uint8_t* at, uint64_t value) {
  store_be16(at, static_cast<uint16_t>(clipped<16>(value)));
}
void store_32(uint8_t* at, uint64_t value) {
  store_be32(at, clipped<32>(value));
}

void write_class_port_info(uint8_t* data) {
  data[0] = kMadBaseVersion;
  data[1] = kPerformanceVersion;
  store_be16(data + 2, kAllPortSelect | kExtendedWidth | kPortXmitWait);
  store_be32(data + 4, kAdditionalExtended << kBehindResponseTime | kResponseTime);
}

void write_port_counters(uint8_t* data, const CounterSums& sums) {
  store_16(data + 4, sums[counter_column("symbol_error")]);
  data[6] = as_8(sums[counter_column("link_error_recovery")]);
  data[7] = as_8(sums[counter_column("link_downed")]);
  store_16(data + 8, sums[counter_column("port_rcv_errors")]);
  store_16(data + 10, sums[counter_column("port_rcv_remote_physical_errors")]);
  store_16(data + 12, sums[counter_column("port_rcv_switch_relay_errors")]);
  store_16(data + 14, sums[counter_column("port_xmit_discards")]);
  data[16] = as_8(sums[counter_column("port_xmit_constraint_errors")]);
  data[17] = as_8(sums[counter_column("port_rcv_constraint_errors")]);
  data[19] =
      static_cast<uint8_t>(clipped<4>(sums[counter_column("local_link_integrity_errors")]) << 4 |
                           clipped<4>(sums[counter_column("excessive_buffer_overrun_errors")]));
  store_16(data + 20, dropped_mads(sums));
  store_16(data + 22, sums[counter_column("VL15_dropped")]);
  store_32(data + 24, sums[counter_column("port_xmit_data")]);
  store_32(data + 28, sums[counter_column("port_rcv_data")]);
  store_32(data + 32, sums[counter_column("port_xmit_packets")]);
  store_32(data + 36, sums[counter_column("port_rcv_packets")]);
  store_32(data + 40, sums[counter_column("port_xmit_wait")]);
}

/// From the eighth byte of PortCountersExtended on.
constexpr auto kExtended = std::to_array<size_t>({
    counter_column("port_xmit_data"),
    counter_column("port_rcv_data"),
    counter_column("port_xmit_packets"),
    counter_column("port_rcv_packets"),
    counter_column("unicast_xmit_packets"),
    counter_column("unicast_rcv_packets"),
    counter_column("multicast_xmit_packets"),
    counter_column("multicast_rcv_packets"),
    counter_column("symbol_error"),
    counter_column("link_error_recovery"),
    counter_column("link_downed"),
    counter_column("port_rcv_errors"),
    counter_column("port_rcv_remote_physical_errors"),
    counter_column("port_rcv_switch_relay_errors"),
    counter_column("port_xmit_discards"),
    counter_column("port_xmit_constraint_errors"),
    counter_column("port_rcv_constraint_errors"),
    counter_column("local_link_integrity_errors"),
    counter_column("excessive_buffer_overrun_errors"),
    counter_column("VL15_dropped"),
    counter_column("port_xmit_wait"),
});

void write_extended(uint8_t* data, const CounterSums& sums) {
  uint8_t* at = data + 8;
  for (const size_t column : kExtended) {
    store_be64(at, sums[column]);
    at += sizeof(uint64_t);
  }
  store_be64(at, dropped_mads(sums));  // QP1Dropped is the last
}

/// The data of the attribute. The port and the counters that were selected stay in front of it.
MadBytes read_attribute(MadView request, uint16_t attribute, const CounterSums& sums) {
  MadBytes response = respond(request, 0);
  uint8_t* const data = response.data() + kDataAt;
  const size_t selected = attribute == kClassPortInfo ? 0 : 4;
  std::fill(response.begin() + kDataAt + selected, response.end(), uint8_t{0});
  if (attribute == kClassPortInfo) {
    write_class_port_info(data);
  } else if (attribute == kPortCounters) {
    write_port_counters(data, sums);
  } else {
    write_extended(data, sums);
  }
  return response;
}

bool is_known(uint16_t attribute) {
  return attribute == kClassPortInfo || attribute == kPortCounters ||
         attribute == kPortCountersExtended;
}

}  // namespace

std::optional<MadBytes> answer_performance(MadView request, const CounterSums& sums) {
  const MadHeader header = read_mad_header(request);
  if (header.method != kMethodGet && header.method != kMethodSet) return std::nullopt;
  if (header.base_version != kMadBaseVersion || header.class_version != kPerformanceVersion) {
    return respond(request, kStatusBadVersion);
  }
  if (header.method == kMethodSet || !is_known(header.attribute_id)) {
    return respond(request, kStatusUnsupportedAttribute);
  }
  const uint8_t port = request[kDataAt + 1];
  if (header.attribute_id != kClassPortInfo && port != kPort && port != kAllPorts) {
    return respond(request, kStatusInvalidValue);
  }
  return read_attribute(request, header.attribute_id, sums);
}

bool asks_for_reset(MadView request) {
  const MadHeader header = read_mad_header(request);
  return header.method == kMethodSet && is_known(header.attribute_id);
}

}  // namespace urxe::umad
