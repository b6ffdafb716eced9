// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/neighbour_discovery.h"

#include <array>
#include <cstring>

namespace urxe {
namespace {

constexpr uint8_t kSolicitation = 135;
constexpr uint8_t kAdvertisement = 136;
constexpr size_t kFixedBytes = 24;
constexpr uint8_t kSolicitedFlag = 0x40;
constexpr uint8_t kOverrideFlag = 0x20;
constexpr uint8_t kSourceLinkAddress = 1;
constexpr uint8_t kTargetLinkAddress = 2;
constexpr size_t kOptionUnit = 8;

/// False: an option has no length, or ends behind the message.
bool read_options(std::span<const uint8_t> options, uint8_t wanted,
                  std::optional<MacAddress>& link_address) {
  while (!options.empty()) {
    if (options.size() < kOptionUnit) return false;
    const size_t size = size_t{options[1]} * kOptionUnit;
    if (size == 0 || size > options.size()) return false;
    if (options[0] == wanted && size == kOptionUnit && (options[2] & 1) == 0) {
      link_address.emplace();
      std::memcpy(link_address->data(), options.data() + 2, link_address->size());
    }
    options = options.subspan(size);
  }
  return true;
}

}  // namespace

Gid all_nodes_group() {
  Gid group;
  group.bytes[0] = 0xff;
  group.bytes[1] = 0x02;
  group.bytes[15] = 1;
  return group;
}

Gid solicited_node_group(const Gid& address) {
  Gid group = all_nodes_group();
  group.bytes[11] = 1;
  group.bytes[12] = 0xff;
  std::memcpy(group.bytes.data() + 13, address.bytes.data() + 13, 3);
  return group;
}

std::optional<NeighbourMessage> parse_neighbour_message(const Icmpv6Message& message) {
  const auto bytes = message.bytes;
  if (bytes.size() < kFixedBytes || bytes[1] != 0 || message.hop_limit != kOnLinkHopLimit) {
    return std::nullopt;
  }
  if (bytes[0] != kSolicitation && bytes[0] != kAdvertisement) return std::nullopt;
  NeighbourMessage result;
  result.is_solicitation = bytes[0] == kSolicitation;
  result.source = message.source;
  result.destination = message.destination;
  result.target = Gid::from_ipv6(bytes.data() + 8);
  result.solicited = !result.is_solicitation && (bytes[4] & kSolicitedFlag) != 0;
  result.overrides = result.is_solicitation || (bytes[4] & kOverrideFlag) != 0;
  const uint8_t wanted = result.is_solicitation ? kSourceLinkAddress : kTargetLinkAddress;
  if (!read_options(bytes.subspan(kFixedBytes), wanted, result.link_address)) return std::nullopt;
  if (result.target.is_multicast() || result.source.is_multicast()) return std::nullopt;
  if (result.is_solicitation && result.source.is_zero() && result.link_address) return std::nullopt;
  if (result.solicited && message.destination.is_multicast()) return std::nullopt;
  return result;
}

ControlFrame make_neighbour_message(const NeighbourMessage& message, const MacAddress& to,
                                    const MacAddress& from) {
  std::array<uint8_t, kFixedBytes + kOptionUnit> bytes{};
  bytes[0] = message.is_solicitation ? kSolicitation : kAdvertisement;
  if (!message.is_solicitation) {
    bytes[4] = static_cast<uint8_t>((message.overrides ? kOverrideFlag : 0) |
                                    (message.solicited ? kSolicitedFlag : 0));
  }
  std::ranges::copy(message.target.bytes, bytes.begin() + 8);
  size_t size = kFixedBytes;
  if (message.link_address) {
    bytes[size] = message.is_solicitation ? kSourceLinkAddress : kTargetLinkAddress;
    bytes[size + 1] = 1;
    std::ranges::copy(*message.link_address, bytes.begin() + static_cast<ptrdiff_t>(size) + 2);
    size += kOptionUnit;
  }
  return make_icmpv6(
      {message.source, message.destination, kOnLinkHopLimit, false, std::span(bytes).first(size)},
      to, from);
}

}  // namespace urxe
