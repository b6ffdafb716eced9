// SPDX-License-Identifier: BSD-2-Clause
#include "transport/raw_packet/steering_table.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "packet/wire/qpn_layout.h"
#include "tests/support/frame_builder.h"
#include "tests/transport/raw_packet/flow_attr.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe::test {
namespace {

using frames::Parts;

QpInit init(uint32_t qpn) {
  QpInit result;
  result.qpn = Qpn(qpn);
  result.type = IBV_QPT_RAW_PACKET;
  return result;
}

struct SteeringTableTest : ::testing::Test {
  FlowId add(QueuePair& qp, const FlowAttr& flow) {
    const auto id = table.add(qp, flow.rule());
    EXPECT_TRUE(id);
    return id.value_or(FlowId{});
  }
  /// The numbers of the queue pairs that get the frame; "drop" behind them if a rule says so.
  std::string find(const Parts& parts, RxFrame::To to = RxFrame::To::kThisHost,
                   bool is_rdma = false) {
    const frames::Bytes frame = frames::make(parts);
    const auto result = table.find({frame, to}, *parse_frame_headers(frame), is_rdma);
    std::string names;
    for (const QueuePair* qp : result.queue_pairs) names += std::to_string(qp->qpn.value());
    return result.dropped ? names + "drop" : names;
  }

  QueuePair a{init(1)}, b{init(2)}, c{init(3)};
  SteeringTable table;
};

TEST_F(SteeringTableTest, GivesNothingWithoutARule) {
  EXPECT_EQ(find({}), "");
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.interest().any);
}

TEST_F(SteeringTableTest, LowestPriorityNumberDecides) {
  add(a, FlowAttr(IBV_FLOW_ATTR_NORMAL, 5).add(udp(2000)));
  EXPECT_EQ(find({}), "1");
  add(b, FlowAttr(IBV_FLOW_ATTR_NORMAL, 4).add(ip()));
  EXPECT_EQ(find({}), "2");
  add(c, FlowAttr(IBV_FLOW_ATTR_NORMAL, 6));
  EXPECT_EQ(find({}), "2");
  EXPECT_EQ(find({.ipv6 = true}), "1");
  EXPECT_EQ(find({.ipv6 = true, .destination_port = 1}), "3");
}

TEST_F(SteeringTableTest, OldestOfOnePriorityDecides) {
  add(a, FlowAttr().add(ip()));
  add(b, FlowAttr().add(udp()));
  EXPECT_EQ(find({}), "1");
}

TEST_F(SteeringTableTest, EqualRulesAreCopied) {
  add(a, FlowAttr().add(udp(2000)));
  const FlowId second = add(b, FlowAttr().add(udp(2000)));
  const FlowId again = add(a, FlowAttr().add(udp(2000)));
  EXPECT_EQ(find({}), "12");
  table.remove(second);
  EXPECT_EQ(find({}), "1");
  table.remove(again);
  EXPECT_EQ(find({}), "1");
}

TEST_F(SteeringTableTest, RuleEndsWithItsLastQueuePair) {
  const FlowId id = add(a, FlowAttr().add(udp(2000)));
  add(b, FlowAttr(IBV_FLOW_ATTR_NORMAL, 1).add(udp(2000)));
  table.remove(id);
  EXPECT_EQ(find({}), "2");
  table.forget(b);
  EXPECT_TRUE(table.empty());
}

TEST_F(SteeringTableTest, DontTrapLetsOthersHaveIt) {
  FlowAttr passing;
  passing.add(udp());
  passing.attr().flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  add(a, passing);
  add(b, FlowAttr(IBV_FLOW_ATTR_NORMAL, 1).add(ip()));
  add(c, FlowAttr(IBV_FLOW_ATTR_ALL_DEFAULT));
  EXPECT_EQ(find({}), "12");
  EXPECT_EQ(find({.ipv6 = true}), "1") << "steered, so not for the default rule";
}

TEST_F(SteeringTableTest, DropsBeforeLowerPriorities) {
  add(a, FlowAttr(IBV_FLOW_ATTR_NORMAL, 1).add(ip()));
  add(b, FlowAttr().add(udp(53)).add(drop()));
  EXPECT_EQ(find({.destination_port = 53}), "drop");
  EXPECT_EQ(find({}), "1");
}

TEST_F(SteeringTableTest, EqualRulesHaveOneAction) {
  add(a, FlowAttr().add(udp(53)));
  const auto refused = table.add(b, FlowAttr().add(udp(53)).add(drop()).rule());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().value, EEXIST);
}

TEST_F(SteeringTableTest, DefaultRulesGetWhatIsLeft) {
  add(a, FlowAttr(IBV_FLOW_ATTR_ALL_DEFAULT));
  add(b, FlowAttr(IBV_FLOW_ATTR_MC_DEFAULT));
  add(c, FlowAttr(IBV_FLOW_ATTR_NORMAL, 65535).add(udp(53)));
  EXPECT_EQ(find({.destination_port = 53}), "3");
  EXPECT_EQ(find({}), "1");
  EXPECT_EQ(find({.to = {1, 0, 0x5e, 0, 0, 1}}), "12");
  EXPECT_EQ(find({.to = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}), "12");
}

TEST_F(SteeringTableTest, SniffersSeeAllAndChangeNothing) {
  add(a, FlowAttr(IBV_FLOW_ATTR_SNIFFER));
  add(b, FlowAttr().add(udp()));
  add(c, FlowAttr(IBV_FLOW_ATTR_ALL_DEFAULT));
  EXPECT_EQ(find({}), "12");
  EXPECT_EQ(find({.protocol = frames::kTcp}), "13");
  EXPECT_EQ(find({}, RxFrame::To::kOutgoing), "1");
  EXPECT_EQ(find({}, RxFrame::To::kThisHost, true), "1") << "the device's own RoCE packets";
  EXPECT_EQ(find({}, RxFrame::To::kOther), "13");
}

TEST_F(SteeringTableTest, FramesToOthersAreForRulesThatNameThem) {
  auto spec = eth();
  std::memcpy(spec.val.dst_mac, "\x02\x00\x00\x00\x00\x09", 6);
  std::memset(spec.mask.dst_mac, 0xff, 6);
  add(a, FlowAttr().add(spec));
  add(b, FlowAttr().add(udp()));
  EXPECT_EQ(find({.to = {2, 0, 0, 0, 0, 9}}, RxFrame::To::kOther), "1");
  EXPECT_EQ(find({}, RxFrame::To::kOther), "");
}

TEST_F(SteeringTableTest, HasABound) {
  for (size_t i = 0; i < SteeringTable::kMaxRules; ++i) {
    add(a, FlowAttr(IBV_FLOW_ATTR_NORMAL, static_cast<uint16_t>(i % 3)).add(udp()));
  }
  const auto refused = table.add(a, FlowAttr().rule());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().value, ENOMEM);
}

TEST_F(SteeringTableTest, SaysWhatTheInterfaceMustTake) {
  auto spec = eth();
  std::memcpy(spec.val.dst_mac, "\x02\x00\x00\x00\x00\x09", 6);
  std::memset(spec.mask.dst_mac, 0xff, 6);
  add(a, FlowAttr().add(spec));
  FrameInterest interest = table.interest();
  EXPECT_EQ(interest.addresses, (std::vector<MacAddress>{{2, 0, 0, 0, 0, 9}}));
  EXPECT_FALSE(interest.promiscuous || interest.all_groups || interest.everything);
  spec = eth();
  spec.val.dst_mac[0] = spec.mask.dst_mac[0] = 1;
  add(a, FlowAttr().add(spec));
  EXPECT_TRUE(table.interest().all_groups);
  EXPECT_FALSE(table.interest().promiscuous);
  spec.mask.dst_mac[0] = 2;
  add(a, FlowAttr().add(spec));
  EXPECT_TRUE(table.interest().promiscuous);
  EXPECT_FALSE(table.interest().outgoing);
  add(a, FlowAttr(IBV_FLOW_ATTR_SNIFFER));
  interest = table.interest();
  EXPECT_TRUE(interest.everything && interest.outgoing);
}

}  // namespace
}  // namespace urxe::test
