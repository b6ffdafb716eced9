// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstring>
#include <vector>

#include "transport/raw_packet/flow_rule.h"

namespace urxe::test {

/// A flow's attributes with its specifications behind them, packed as programs do.
class FlowAttr {
 public:
  explicit FlowAttr(ibv_flow_attr_type type = IBV_FLOW_ATTR_NORMAL, uint16_t priority = 0) {
    attr_.type = type;
    attr_.priority = priority;
    attr_.port = 1;
  }
  template <class Spec>
  FlowAttr& add(const Spec& spec) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&spec);
    specs_.insert(specs_.end(), bytes, bytes + sizeof spec);
    ++attr_.num_of_specs;
    return *this;
  }
  ibv_flow_attr& attr() { return attr_; }

  [[nodiscard]] Expected<FlowRule, Errno> parse() const {
    std::vector<uint8_t> bytes(sizeof attr_ + specs_.size() + sizeof(ibv_flow_spec));
    std::memcpy(bytes.data(), &attr_, sizeof attr_);
    if (!specs_.empty()) std::memcpy(bytes.data() + sizeof attr_, specs_.data(), specs_.size());
    return parse_flow_rule(*reinterpret_cast<const ibv_flow_attr*>(bytes.data()));
  }
  [[nodiscard]] FlowRule rule() const { return parse().value_or(FlowRule{}); }
  [[nodiscard]] int wrong() const {
    const auto parsed = parse();
    return parsed ? 0 : parsed.error().value;
  }

 private:
  ibv_flow_attr attr_{};
  std::vector<uint8_t> specs_;
};

/// A specification that matches everything of its layer.
template <class Spec>
Spec spec_of(ibv_flow_spec_type type) {
  Spec spec{};
  spec.type = type;
  spec.size = sizeof spec;
  return spec;
}
inline ibv_flow_spec_eth eth() {
  return spec_of<ibv_flow_spec_eth>(IBV_FLOW_SPEC_ETH);
}
inline ibv_flow_spec_ipv4 ip() {
  return spec_of<ibv_flow_spec_ipv4>(IBV_FLOW_SPEC_IPV4);
}
inline ibv_flow_spec_ipv4_ext ip_ext() {
  return spec_of<ibv_flow_spec_ipv4_ext>(IBV_FLOW_SPEC_IPV4_EXT);
}
inline ibv_flow_spec_ipv6 ip6() {
  return spec_of<ibv_flow_spec_ipv6>(IBV_FLOW_SPEC_IPV6);
}
inline ibv_flow_spec_tcp_udp udp(uint16_t destination_port = 0) {
  auto spec = spec_of<ibv_flow_spec_tcp_udp>(IBV_FLOW_SPEC_UDP);
  spec.val.dst_port = htons(destination_port);
  spec.mask.dst_port = destination_port != 0 ? 0xffff : 0;
  return spec;
}
inline ibv_flow_spec_action_drop drop() {
  return spec_of<ibv_flow_spec_action_drop>(IBV_FLOW_SPEC_ACTION_DROP);
}

}  // namespace urxe::test
