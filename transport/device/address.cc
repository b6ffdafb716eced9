// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/address.h"

#include <algorithm>
#include <iterator>

#include "packet/base/mix_bits.h"
#include "packet/wire/qpn_layout.h"
#include "packet/wire/types.h"

namespace urxe {
namespace {

constexpr uint8_t kServiceLevelMask = 0xf;
constexpr uint32_t kLabelMask = 0xfffff;

uint16_t fold(uint32_t flow_label) {
  flow_label &= kLabelMask;
  return source_port_by(flow_label ^ (flow_label >> 14));
}

}  // namespace

bool address_is_valid(const DeviceConfig& config, const ibv_ah_attr& av) {
  if (av.is_global == 0 || av.port_num != 1 || av.grh.sgid_index >= config.gids.size())
    return false;
  const Gid& source = config.gids[av.grh.sgid_index];
  const Gid destination = Gid::from_ipv6(av.grh.dgid.raw);
  // One packet is of one IP version.
  return !source.is_zero() && !destination.is_zero() && source.is_ipv4() == destination.is_ipv4();
}

bool peer_is_valid(const DeviceConfig& config, const ibv_ah_attr& av) {
  return address_is_valid(config, av) && !Gid::from_ipv6(av.grh.dgid.raw).is_multicast();
}

bool is_own_address(const DeviceConfig& config, const Gid& address) {
  return std::ranges::find(config.gids, address) != config.gids.end();
}

Flow flow_to(const DeviceConfig& config, const ibv_ah_attr& av) {
  Flow flow;
  flow.source = config.gids[av.grh.sgid_index];
  std::copy(std::begin(av.grh.dgid.raw), std::end(av.grh.dgid.raw), flow.destination.bytes.begin());
  flow.traffic_class = av.grh.traffic_class;
  flow.hop_limit = av.grh.hop_limit == 0 ? kDefaultHopLimit : av.grh.hop_limit;
  flow.source_port = fold(av.grh.flow_label);
  flow.service_level = av.sl & kServiceLevelMask;
  return flow;
}

uint16_t source_port_for(uint32_t flow_label, Qpn local, Qpn remote) {
  if (flow_label != 0) return fold(flow_label);
  // Not the same in both directions: the peer may have the same address, and wants a port, too.
  const uint64_t pair = uint64_t{slot_of(local)} * kSlots + slot_of(remote);
  return fold(static_cast<uint32_t>(mix_bits(pair + kGoldenRatio)));
}

}  // namespace urxe
