// SPDX-License-Identifier: BSD-2-Clause
#include "transport/raw_packet/flow_rule.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/frame_builder.h"
#include "tests/transport/raw_packet/flow_attr.h"

namespace urxe::test {
namespace {

using frames::Parts;

bool matches(const FlowAttr& flow, const Parts& parts) {
  const auto rule = flow.parse();
  EXPECT_TRUE(rule) << (rule ? 0 : rule.error().value);
  const frames::Bytes frame = frames::make(parts);
  const auto headers = parse_frame_headers(frame);
  return rule && headers && rule->match.matches(frame, *headers);
}

/// Expect: the rule takes the first frame and not the second.
void expect_tells_apart(const FlowAttr& flow, const Parts& yes, const Parts& no) {
  EXPECT_TRUE(matches(flow, yes));
  EXPECT_FALSE(matches(flow, no));
}

TEST(FlowRuleTest, MatchesEachMemberOfEth) {
  auto spec = eth();
  std::memcpy(spec.val.dst_mac, "\x02\x00\x00\x00\x00\x09", 6);
  std::memset(spec.mask.dst_mac, 0xff, 6);
  expect_tells_apart(FlowAttr().add(spec), {.to = {2, 0, 0, 0, 0, 9}}, {.to = {2, 0, 0, 0, 0, 8}});
  spec = eth();
  std::memcpy(spec.val.src_mac, "\x02\x00\x00\x00\x00\x09", 6);
  std::memset(spec.mask.src_mac, 0xff, 6);
  expect_tells_apart(FlowAttr().add(spec), {.from = {2, 0, 0, 0, 0, 9}}, {.from = {2, 9}});
  spec = eth();
  spec.val.ether_type = htons(0x86dd);
  spec.mask.ether_type = 0xffff;
  expect_tells_apart(FlowAttr().add(spec), {.vlan_tags = {3}, .ipv6 = true}, {.vlan_tags = {3}});
  spec = eth();
  spec.val.vlan_tag = htons(3);
  spec.mask.vlan_tag = htons(0xfff);
  expect_tells_apart(FlowAttr().add(spec), {.vlan_tags = {0x6003, 4}}, {.vlan_tags = {4, 3}});
  expect_tells_apart(FlowAttr().add(spec), {.vlan_tags = {3}}, {});
}

TEST(FlowRuleTest, MatchesEachMemberOfIpv4) {
  auto spec = ip();
  spec.val.src_ip = htonl(0x0a000007);
  spec.mask.src_ip = htonl(0xffffffff);
  expect_tells_apart(FlowAttr().add(spec), {.source_host = 7}, {.source_host = 6});
  spec = ip();
  spec.val.dst_ip = htonl(0x0a000004);
  spec.mask.dst_ip = htonl(0xfffffffc);
  expect_tells_apart(FlowAttr().add(spec), {.destination_host = 7}, {.destination_host = 8});
  expect_tells_apart(FlowAttr().add(ip()), {}, {.ipv6 = true});
}

TEST(FlowRuleTest, MatchesEachMemberOfIpv4Ext) {
  auto spec = ip_ext();
  spec.val.proto = 6;
  spec.mask.proto = 0xff;
  expect_tells_apart(FlowAttr().add(spec), {.protocol = frames::kTcp}, {});
  spec = ip_ext();
  spec.val.tos = 0x20;
  spec.mask.tos = 0xfc;
  expect_tells_apart(FlowAttr().add(spec), {.tos = 0x21}, {.tos = 0x24});
  spec = ip_ext();
  spec.val.ttl = 9;
  spec.mask.ttl = 0xff;
  expect_tells_apart(FlowAttr().add(spec), {.ttl = 9}, {.ttl = 8});
  spec = ip_ext();
  spec.val.flags = 2;  // IB_IPV4_DONT_FRAG
  spec.mask.flags = 2;
  expect_tells_apart(FlowAttr().add(spec), {.fragment = 0x4000}, {.fragment = 0});
  spec.val.flags = spec.mask.flags = 4;  // IB_IPV4_MORE_FRAG
  expect_tells_apart(FlowAttr().add(spec), {.fragment = 0x2000}, {.fragment = 0x4000});
  spec = ip_ext();
  spec.val.src_ip = htonl(0x0a000007);
  spec.mask.src_ip = 0xffffffff;
  expect_tells_apart(FlowAttr().add(spec), {.source_host = 7}, {.source_host = 6});
}

TEST(FlowRuleTest, MatchesEachMemberOfIpv6) {
  auto spec = ip6();
  spec.val.src_ip[15] = 7;
  std::memset(spec.mask.src_ip + 1, 0xff, 15);
  expect_tells_apart(FlowAttr().add(spec), {.ipv6 = true, .source_host = 7}, {.ipv6 = true});
  spec = ip6();
  spec.val.dst_ip[0] = 0xfd;
  spec.val.dst_ip[15] = 7;
  std::memset(spec.mask.dst_ip, 0xff, 16);
  expect_tells_apart(FlowAttr().add(spec), {.ipv6 = true, .destination_host = 7}, {.ipv6 = true});
  spec = ip6();
  spec.val.flow_label = htonl(0x12345);
  spec.mask.flow_label = htonl(0xfffff);
  expect_tells_apart(FlowAttr().add(spec), {.ipv6 = true, .tos = 0xff, .flow_label = 0x12345},
                     {.ipv6 = true, .flow_label = 0x12344});
  spec = ip6();
  spec.val.traffic_class = 0xb8;
  spec.mask.traffic_class = 0xfc;
  expect_tells_apart(FlowAttr().add(spec), {.ipv6 = true, .tos = 0xb9, .flow_label = 0xfffff},
                     {.ipv6 = true, .tos = 0x38});
  spec = ip6();
  spec.val.hop_limit = 9;
  spec.mask.hop_limit = 0xff;
  expect_tells_apart(FlowAttr().add(spec), {.ipv6 = true, .ttl = 9}, {.ipv6 = true});
  spec = ip6();
  spec.val.next_hdr = 60;
  spec.mask.next_hdr = 0xff;
  expect_tells_apart(FlowAttr().add(spec),
                     {.ipv6 = true, .extensions = {{60, frames::Bytes(8, 0)}}}, {.ipv6 = true});
}

TEST(FlowRuleTest, MatchesPortsOfTcpAndUdp) {
  expect_tells_apart(FlowAttr().add(udp(53)), {.destination_port = 53},
                     {.protocol = frames::kTcp, .destination_port = 53});
  auto tcp = udp();
  tcp.type = IBV_FLOW_SPEC_TCP;
  tcp.val.src_port = htons(0x1230);
  tcp.mask.src_port = htons(0xfff0);
  expect_tells_apart(FlowAttr().add(tcp), {.protocol = frames::kTcp, .source_port = 0x123f},
                     {.protocol = frames::kTcp, .source_port = 0x1240});
}

TEST(FlowRuleTest, FindsPortsBehindOptionsTagsAndExtensions) {
  const FlowAttr flow = FlowAttr().add(udp(53));
  expect_tells_apart(flow, {.ip_options = frames::Bytes(40, 1), .destination_port = 53},
                     {.ip_options = frames::Bytes(40, 1)});
  expect_tells_apart(flow, {.vlan_tags = {1, 2}, .destination_port = 53}, {.vlan_tags = {1, 2}});
  expect_tells_apart(
      flow, {.ipv6 = true, .extensions = {{60, frames::Bytes(8, 0)}}, .destination_port = 53},
      {.ipv6 = true, .extensions = {{60, frames::Bytes(8, 0)}}});
}

TEST(FlowRuleTest, DoesNotMatchPortsOfFragments) {
  const FlowAttr flow = FlowAttr().add(udp(53));
  EXPECT_FALSE(matches(flow, {.fragment = 0x2000, .destination_port = 53}));
  EXPECT_FALSE(matches(flow, {.fragment = 0x0010, .destination_port = 53}));
}

TEST(FlowRuleTest, MatchesCutOffFramesByWhatTheyHave) {
  const FlowRule rule = FlowAttr().add(ip()).add(udp(53)).rule();
  const FlowRule only_ip = FlowAttr().add(ip()).rule();
  const frames::Bytes frame = frames::make({.destination_port = 53});
  for (size_t size = 14; size < frame.size(); ++size) {
    const auto cut = std::span(frame).first(size);
    const auto headers = parse_frame_headers(cut);
    ASSERT_TRUE(headers);
    EXPECT_EQ(rule.match.matches(cut, *headers), size >= 42) << size;
    EXPECT_EQ(only_ip.match.matches(cut, *headers), size >= 34) << size;
  }
}

TEST(FlowRuleTest, TakesSpecificationsInAnyOrder) {
  EXPECT_EQ(FlowAttr().add(udp(53)).add(ip()).add(eth()).rule().match,
            FlowAttr().add(udp(53)).add(ip()).add(eth()).rule().match);
  EXPECT_EQ(FlowAttr().add(udp(53)).add(ip()).add(eth()).wrong(), 0);
}

TEST(FlowRuleTest, RefusesWhatTheKernelRefuses) {
  const auto with = [](auto change) {
    FlowAttr flow;
    change(flow.attr());
    return flow.wrong();
  };
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.comp_mask = 1; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.port = 0; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.port = 2; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.flags = 1; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.flags = 8; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS; }), EOPNOTSUPP);
  EXPECT_EQ(with([](ibv_flow_attr& attr) { attr.num_of_specs = 11; }), EINVAL);
  EXPECT_EQ(with([](ibv_flow_attr& attr) {
              constexpr uint32_t kNoType = 4;
              std::memcpy(&attr.type, &kNoType, sizeof kNoType);
            }),
            EINVAL);
  for (const auto type : {IBV_FLOW_ATTR_ALL_DEFAULT, IBV_FLOW_ATTR_MC_DEFAULT}) {
    FlowAttr flow(type);
    EXPECT_EQ(flow.wrong(), 0);
    flow.attr().flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
    EXPECT_EQ(flow.wrong(), EINVAL);
  }
  EXPECT_EQ(FlowAttr(IBV_FLOW_ATTR_SNIFFER).add(eth()).wrong(), EINVAL);
}

TEST(FlowRuleTest, RefusesWrongSpecifications) {
  auto spec = eth();
  spec.size = sizeof spec - 4;
  EXPECT_EQ(FlowAttr().add(spec).wrong(), EINVAL) << "too short";
  spec.size = 0;
  EXPECT_EQ(FlowAttr().add(spec).wrong(), EINVAL) << "no size";
  spec = eth();
  spec.type = static_cast<ibv_flow_spec_type>(0x77);
  EXPECT_EQ(FlowAttr().add(spec).wrong(), EINVAL) << "unknown";
  EXPECT_EQ(FlowAttr().add(eth()).add(eth()).wrong(), EINVAL) << "a layer twice";
  EXPECT_EQ(FlowAttr().add(ip()).add(ip6()).wrong(), EINVAL) << "two layers 3";
  EXPECT_EQ(FlowAttr().add(ip()).add(ip_ext()).wrong(), EINVAL) << "two layers 3";
  auto label = ip6();
  label.val.flow_label = htonl(1U << 20);
  EXPECT_EQ(FlowAttr().add(label).wrong(), EINVAL) << "flow label";
}

TEST(FlowRuleTest, RefusesContradictions) {
  auto spec = eth();
  spec.val.ether_type = htons(0x86dd);
  spec.mask.ether_type = 0xffff;
  EXPECT_EQ(FlowAttr().add(spec).add(ip()).wrong(), EINVAL);
  EXPECT_EQ(FlowAttr().add(spec).add(ip6()).wrong(), 0);
  auto tcp_only = ip_ext();
  tcp_only.val.proto = 6;
  tcp_only.mask.proto = 0xff;
  EXPECT_EQ(FlowAttr().add(tcp_only).add(udp()).wrong(), EINVAL);
  FlowAttr dropping;
  dropping.add(drop());
  EXPECT_TRUE(dropping.rule().drop);
  dropping.attr().flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  EXPECT_EQ(dropping.wrong(), EINVAL);
}

TEST(FlowRuleTest, SaysWhatIsNotSupported) {
  for (const uint32_t type :
       {0x34U, 0x50U, 0x51U, 0x60U, 0x120U, 0x130U, 0x1000U, 0x1002U, 0x1003U}) {
    auto spec = eth();
    spec.type = static_cast<ibv_flow_spec_type>(type);
    EXPECT_EQ(FlowAttr().add(spec).wrong(), EOPNOTSUPP) << std::hex << type;
  }
}

}  // namespace
}  // namespace urxe::test
