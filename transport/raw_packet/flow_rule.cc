// SPDX-License-Identifier: BSD-2-Clause
#include "transport/raw_packet/flow_rule.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

using Base = FrameMatch::Base;
using Network = FrameHeaders::Network;
using Transport = FrameHeaders::Transport;

/// IB_FLOW_SPEC_SUPPORT_LAYERS of the kernel.
constexpr uint8_t kMaxSpecs = 10;
constexpr uint32_t kKnownFlags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP | IBV_FLOW_ATTR_FLAGS_EGRESS;

/// The type and size that all specifications begin with.
struct SpecHeader {
  uint32_t type = 0;
  uint16_t size = 0;
};

template <class Value>
std::span<const uint8_t> bytes_of(const Value& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

/// A rule under construction.
class RuleParser {
 public:
  /// 0 or an errno.
  int add(const uint8_t* spec, const SpecHeader& header);
  /// Whether the specifications fit each other.
  [[nodiscard]] bool is_consistent() const;

  FlowRule rule;

 private:
  template <class Spec>
  int add_as(const uint8_t* at, const SpecHeader& header);
  void take(const ibv_flow_spec_eth& spec);
  void take(const ibv_flow_spec_ipv4& spec);
  void take(const ibv_flow_spec_ipv4_ext& spec);
  void take(const ibv_flow_spec_ipv6& spec);
  void take(const ibv_flow_spec_tcp_udp& spec);
  void take(const ibv_flow_spec_action_drop& /*spec*/) { rule.drop = true; }
  static bool is_valid(const ibv_flow_spec_ipv6& spec);
  template <class Spec>
  static bool is_valid(const Spec& /*spec*/) {
    return true;
  }
  void require_protocol(size_t at, uint8_t value, uint8_t mask);

  template <class Value>
  void require(Base base, size_t offset, const Value& value, const Value& mask) {
    rule.match.require(base, offset, bytes_of(value), bytes_of(mask));
  }

  unsigned layers_ = 0;  ///< bits of the layers that have a specification
  uint16_t ether_type_ = 0;
  uint16_t ether_type_mask_ = 0;
  uint8_t protocol_ = 0;
  uint8_t protocol_mask_ = 0;
};

void RuleParser::take(const ibv_flow_spec_eth& spec) {
  require(Base::kFrame, 0, spec.val.dst_mac, spec.mask.dst_mac);
  require(Base::kFrame, 6, spec.val.src_mac, spec.mask.src_mac);
  require(Base::kVlanTag, 0, spec.val.vlan_tag, spec.mask.vlan_tag);
  require(Base::kEtherType, 0, spec.val.ether_type, spec.mask.ether_type);
  ether_type_ = load_be16(bytes_of(spec.val.ether_type).data());
  ether_type_mask_ = load_be16(bytes_of(spec.mask.ether_type).data());
}

void RuleParser::require_protocol(size_t at, uint8_t value, uint8_t mask) {
  require(Base::kNetwork, at, value, mask);
  protocol_ = value;
  protocol_mask_ = mask;
}

void RuleParser::take(const ibv_flow_spec_ipv4& spec) {
  rule.match.require_network(Network::kIpv4);
  require(Base::kNetwork, 12, spec.val.src_ip, spec.mask.src_ip);
  require(Base::kNetwork, 16, spec.val.dst_ip, spec.mask.dst_ip);
}

void RuleParser::take(const ibv_flow_spec_ipv4_ext& spec) {
  // enum ib_ipv4_flags of the kernel counts the header's bits from the left.
  const auto in_header = [](uint8_t flags) {
    constexpr uint8_t kDontFragment = 0x2;
    constexpr uint8_t kMoreFragments = 0x4;
    return static_cast<uint8_t>(((flags & kDontFragment) != 0 ? 0x40 : 0) |
                                ((flags & kMoreFragments) != 0 ? 0x20 : 0));
  };
  rule.match.require_network(Network::kIpv4);
  require(Base::kNetwork, 12, spec.val.src_ip, spec.mask.src_ip);
  require(Base::kNetwork, 16, spec.val.dst_ip, spec.mask.dst_ip);
  require(Base::kNetwork, 1, spec.val.tos, spec.mask.tos);
  require(Base::kNetwork, 6, in_header(spec.val.flags), in_header(spec.mask.flags));
  require(Base::kNetwork, 8, spec.val.ttl, spec.mask.ttl);
  require_protocol(9, spec.val.proto, spec.mask.proto);
}

void RuleParser::take(const ibv_flow_spec_ipv6& spec) {
  rule.match.require_network(Network::kIpv6);
  // The first word: version, traffic class, flow label.
  const auto first_word = [](const ibv_flow_ipv6_filter& filter) {
    std::array<uint8_t, 4> word;
    std::memcpy(word.data(), &filter.flow_label, word.size());
    word[0] = static_cast<uint8_t>(filter.traffic_class >> 4);
    word[1] = static_cast<uint8_t>(word[1] | filter.traffic_class << 4);
    return word;
  };
  require(Base::kNetwork, 0, first_word(spec.val), first_word(spec.mask));
  require(Base::kNetwork, 7, spec.val.hop_limit, spec.mask.hop_limit);
  require(Base::kNetwork, 8, spec.val.src_ip, spec.mask.src_ip);
  require(Base::kNetwork, 24, spec.val.dst_ip, spec.mask.dst_ip);
  require_protocol(6, spec.val.next_hdr, spec.mask.next_hdr);
  // With extension headers the transport protocol is not in the first header.
  protocol_mask_ = 0;
}

bool RuleParser::is_valid(const ibv_flow_spec_ipv6& spec) {
  constexpr uint8_t kAboveFlowLabel = 0xf0;
  const auto value = bytes_of(spec.val.flow_label);
  const auto mask = bytes_of(spec.mask.flow_label);
  return value[0] == 0 && mask[0] == 0 && ((value[1] | mask[1]) & kAboveFlowLabel) == 0;
}

void RuleParser::take(const ibv_flow_spec_tcp_udp& spec) {
  rule.match.require_transport(spec.type == IBV_FLOW_SPEC_TCP ? Transport::kTcp : Transport::kUdp);
  require(Base::kTransport, 0, spec.val.src_port, spec.mask.src_port);
  require(Base::kTransport, 2, spec.val.dst_port, spec.mask.dst_port);
}

template <class Spec>
int RuleParser::add_as(const uint8_t* at, const SpecHeader& header) {
  Spec spec;
  if (header.size != sizeof spec) return EINVAL;
  // Types of one layer differ in the last four bits.
  const unsigned layer = 1U << (header.type >> 4 & 0xf);
  if ((layers_ & layer) != 0) return EINVAL;
  layers_ |= layer;
  std::memcpy(&spec, at, sizeof spec);  // programs pack specifications
  if (!is_valid(spec)) return EINVAL;
  take(spec);
  return 0;
}

int RuleParser::add(const uint8_t* at, const SpecHeader& header) {
  switch (header.type) {
    case IBV_FLOW_SPEC_ETH:
      return add_as<ibv_flow_spec_eth>(at, header);
    case IBV_FLOW_SPEC_IPV4:
      return add_as<ibv_flow_spec_ipv4>(at, header);
    case IBV_FLOW_SPEC_IPV4_EXT:
      return add_as<ibv_flow_spec_ipv4_ext>(at, header);
    case IBV_FLOW_SPEC_IPV6:
      return add_as<ibv_flow_spec_ipv6>(at, header);
    case IBV_FLOW_SPEC_TCP:
    case IBV_FLOW_SPEC_UDP:
      return add_as<ibv_flow_spec_tcp_udp>(at, header);
    case IBV_FLOW_SPEC_ACTION_DROP:
      return add_as<ibv_flow_spec_action_drop>(at, header);
    case IBV_FLOW_SPEC_ESP:
    case IBV_FLOW_SPEC_VXLAN_TUNNEL:
    case IBV_FLOW_SPEC_GRE:
    case IBV_FLOW_SPEC_MPLS:
    case IBV_FLOW_SPEC_ACTION_TAG:
    case IBV_FLOW_SPEC_ACTION_HANDLE:
    case IBV_FLOW_SPEC_ACTION_COUNT:
      return EOPNOTSUPP;
    default:
      return (header.type & IBV_FLOW_SPEC_INNER) != 0 ? EOPNOTSUPP : EINVAL;
  }
}

bool RuleParser::is_consistent() const {
  const Network network = rule.match.network();
  if (network != Network::kOther) {
    const uint16_t type = network == Network::kIpv4 ? kEtherTypeIpv4 : kEtherTypeIpv6;
    if ((ether_type_ & ether_type_mask_) != (type & ether_type_mask_)) return false;
  }
  const Transport transport = rule.match.transport();
  if (transport == Transport::kOther) return true;
  const uint8_t protocol = transport == Transport::kTcp ? kTcpProtocol : kUdpProtocol;
  return (protocol_ & protocol_mask_) == (protocol & protocol_mask_);
}

/// As a number: the application may have written anything.
unsigned type_of(const ibv_flow_attr& attr) {
  unsigned type = 0;
  static_assert(sizeof type == sizeof attr.type);
  std::memcpy(&type, &attr.type, sizeof type);
  return type;
}

int check_attr(const ibv_flow_attr& attr) {
  if (attr.comp_mask != 0 || (attr.flags & ~kKnownFlags) != 0) return EINVAL;
  if (attr.num_of_specs > kMaxSpecs || attr.port != 1) return EINVAL;
  if (type_of(attr) > IBV_FLOW_ATTR_SNIFFER) return EINVAL;
  const bool is_normal = attr.type == IBV_FLOW_ATTR_NORMAL;
  if (!is_normal && (attr.flags != 0 || attr.num_of_specs != 0)) return EINVAL;
  return (attr.flags & IBV_FLOW_ATTR_FLAGS_EGRESS) != 0 ? EOPNOTSUPP : 0;
}

}  // namespace

Expected<FlowRule, Errno> parse_flow_rule(const ibv_flow_attr& attr) {
  if (const int wrong = check_attr(attr); wrong != 0) return error(wrong);
  RuleParser parser;
  const auto* at = reinterpret_cast<const uint8_t*>(&attr + 1);
  for (uint8_t i = 0; i < attr.num_of_specs; ++i) {
    SpecHeader header;
    std::memcpy(&header.type, at, sizeof header.type);
    std::memcpy(&header.size, at + sizeof header.type, sizeof header.size);
    if (const int wrong = parser.add(at, header); wrong != 0) return error(wrong);
    at += header.size;
  }
  FlowRule rule = parser.rule;
  rule.type = attr.type;
  rule.priority = attr.priority;
  rule.dont_trap = (attr.flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP) != 0;
  if (!parser.is_consistent() || (rule.drop && rule.dont_trap)) return error(EINVAL);
  return rule;
}

}  // namespace urxe
