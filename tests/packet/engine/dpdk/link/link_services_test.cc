// SPDX-License-Identifier: BSD-2-Clause
// What a host on a link says and learns: ARP and IPv6 neighbour discovery.
#include "tests/packet/engine/dpdk/link/link_fixture.h"

namespace urxe::test {
namespace {

constexpr auto kKnown = NextHop::Kind::kKnown;
constexpr auto kAsking = NextHop::Kind::kAsking;
constexpr auto kUnreachable = NextHop::Kind::kUnreachable;

class LinkServicesTest : public LinkTest {};

TEST_F(LinkServicesTest, AnswersWhoAsksForItsAddress) {
  const ArpPacket question{true, kPeerMac, address("10.0.0.2"), {}, address("10.0.0.1")};
  link_.handle(bytes(make_arp(question, kBroadcastMac)), now_);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(destination_of(frames[0]), kPeerMac);
  const auto answer = parse_arp(bytes(frames[0]));
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_request);
  EXPECT_EQ(answer->sender_mac, kOurMac);
  EXPECT_EQ(answer->sender, address("10.0.0.1"));
  EXPECT_EQ(answer->target, address("10.0.0.2"));
  EXPECT_EQ(answer->target_mac, kPeerMac);
}

TEST_F(LinkServicesTest, LeavesOthersQuestionsAlone) {
  const ArpPacket question{true, kPeerMac, address("10.0.0.2"), {}, address("10.0.0.3")};
  link_.handle(bytes(make_arp(question, kBroadcastMac)), now_);
  const NeighbourMessage solicitation{true, address("fd00::2"),
                                      solicited_node_group(address("fd00::3")), address("fd00::3"),
                                      kPeerMac};
  link_.handle(bytes(make_neighbour_message(solicitation, kOurMac, kPeerMac)), now_);
  EXPECT_TRUE(sent().empty());
}

TEST_F(LinkServicesTest, AnswersSolicitations) {
  const NeighbourMessage question{true, address("fd00::2"),
                                  solicited_node_group(address("fd00::1")), address("fd00::1"),
                                  kPeerMac};
  link_.handle(bytes(make_neighbour_message(question, kOurMac, kPeerMac)), now_);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(destination_of(frames[0]), kPeerMac);
  const auto answer = neighbour_message(frames[0]);
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->is_solicitation);
  EXPECT_TRUE(answer->solicited);
  EXPECT_EQ(answer->destination, address("fd00::2"));
  EXPECT_EQ(answer->target, address("fd00::1"));
  EXPECT_EQ(answer->link_address, kOurMac);
}

// Expect: a host that tests whether it may have our address is told, with everybody else.
TEST_F(LinkServicesTest, DefendsItsAddress) {
  const NeighbourMessage probe{
      true, {}, solicited_node_group(address("fd00::1")), address("fd00::1"), {}};
  link_.handle(bytes(make_neighbour_message(probe, kOurMac, kPeerMac)), now_);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  const auto answer = neighbour_message(frames[0]);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->destination, all_nodes_group());
  EXPECT_FALSE(answer->solicited);
}

TEST_F(LinkServicesTest, AnnouncesItselfThreeTimes) {
  link_.announce(now_);
  pass(seconds(10));
  int arp = 0;
  int advertisements = 0;
  for (const ControlFrame& frame : sent()) {
    if (const auto packet = parse_arp(bytes(frame))) {
      ++arp;
      EXPECT_EQ(packet->sender, packet->target);
      EXPECT_EQ(destination_of(frame), kBroadcastMac);
    }
    const auto message = neighbour_message(frame);
    if (message && !message->is_solicitation) ++advertisements;
  }
  EXPECT_EQ(arp, 3);
  EXPECT_EQ(advertisements, 3);
}

TEST_F(LinkServicesTest, AsksForANeighbourAndLearnsIt) {
  expect_kind("10.0.0.2", kAsking);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(destination_of(frames[0]), kBroadcastMac);
  const auto question = parse_arp(bytes(frames[0]));
  ASSERT_TRUE(question && question->is_request);
  EXPECT_EQ(question->sender, address("10.0.0.1"));
  EXPECT_EQ(question->target, address("10.0.0.2"));
  answer_arp("10.0.0.2");
  EXPECT_EQ(link_.resolutions(), 1U);
  expect_kind("10.0.0.2", kKnown);
  EXPECT_EQ(link_.resolve(address("10.0.0.2"), now_).mac, kPeerMac);
  EXPECT_TRUE(sent().empty());
}

TEST_F(LinkServicesTest, AsksForAnIpv6Neighbour) {
  expect_kind("fd00::2", kAsking);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  const Gid group = solicited_node_group(address("fd00::2"));
  EXPECT_EQ(destination_of(frames[0]), group_mac(group));
  const auto question = neighbour_message(frames[0]);
  ASSERT_TRUE(question && question->is_solicitation);
  EXPECT_EQ(question->destination, group);
  EXPECT_EQ(question->source, address("fd00::1"));
  const NeighbourMessage answer{
      false, address("fd00::2"), address("fd00::1"), address("fd00::2"), kPeerMac, true};
  link_.handle(bytes(make_neighbour_message(answer, kOurMac, kPeerMac)), now_);
  expect_kind("fd00::2", kKnown);
}

// Expect: quick questions at first, then one a second, and none when nobody needs the answer.
TEST_F(LinkServicesTest, AsksAgainWhileSomebodyWaits) {
  for (int i = 0; i < 100; ++i) {
    expect_kind("10.0.0.2", kAsking);
    pass(milliseconds(100));
  }
  const size_t asked = sent().size();
  EXPECT_GE(asked, 10U);
  EXPECT_LE(asked, 20U);
  pass(seconds(5));
  (void)sent();
  pass(seconds(5));
  EXPECT_TRUE(sent().empty());
}

TEST_F(LinkServicesTest, OtherNetworksAreBehindTheGateway) {
  expect_kind("192.0.2.1", kAsking);
  EXPECT_EQ(parse_arp(bytes(sent()[0]))->target, address("10.0.0.254"));
  answer_arp("10.0.0.254");
  expect_kind("192.0.2.1", kKnown);
  expect_kind("198.51.100.1", kKnown);
  expect_kind("10.0.0.9", kAsking);
}

TEST_F(LinkServicesTest, WithoutGatewayOtherNetworksCannotBeReached) {
  LinkServices alone({kOurMac, {*parse_ip_network("10.0.0.1/24")}, {}}, {1, 2});
  EXPECT_EQ(alone.resolve(address("192.0.2.1"), now_).kind, kUnreachable);
  EXPECT_EQ(alone.resolve(address("fd00::2"), now_).kind, kUnreachable);
  EXPECT_FALSE(alone.take_frame());
}

// Expect: an old address is used while it is checked, and forgotten when nobody confirms it.
TEST_F(LinkServicesTest, ChecksWhatItKnows) {
  expect_kind("10.0.0.2", kAsking);
  answer_arp("10.0.0.2");
  pass(seconds(40));
  (void)sent();
  expect_kind("10.0.0.2", kKnown);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(destination_of(frames[0]), kPeerMac);
  answer_arp("10.0.0.2");
  pass(seconds(40));
  for (int i = 0; i < 60; ++i) {
    (void)link_.resolve(address("10.0.0.2"), now_);
    pass(milliseconds(100));
  }
  expect_kind("10.0.0.2", kAsking);
}

TEST_F(LinkServicesTest, FollowsANeighbourThatChangesItsLinkAddress) {
  expect_kind("10.0.0.2", kAsking);
  answer_arp("10.0.0.2");
  const MacAddress other = {2, 0, 0, 0, 0, 9};
  answer_arp("10.0.0.2", other);
  EXPECT_EQ(link_.resolve(address("10.0.0.2"), now_).mac, other);
}

// RFC 4861, 7.2.5. The defect: traffic went to whoever answered last, for half a minute.
TEST_F(LinkServicesTest, KeepsANeighbourIfAnAdvertisementDoesNotOverride) {
  expect_kind("fd00::2", kAsking);
  NeighbourMessage answer{
      false, address("fd00::2"), address("fd00::1"), address("fd00::2"), kPeerMac, true, false};
  link_.handle(bytes(make_neighbour_message(answer, kOurMac, kPeerMac)), now_);
  EXPECT_EQ(link_.resolve(address("fd00::2"), now_).mac, kPeerMac);
  const MacAddress other = {2, 0, 0, 0, 0, 9};
  answer.link_address = other;
  link_.handle(bytes(make_neighbour_message(answer, kOurMac, other)), now_);
  EXPECT_EQ(link_.resolve(address("fd00::2"), now_).mac, kPeerMac);
  answer.overrides = true;
  link_.handle(bytes(make_neighbour_message(answer, kOurMac, other)), now_);
  EXPECT_EQ(link_.resolve(address("fd00::2"), now_).mac, other);
}

// Expect: only what was asked for is learnt; nobody can fill the table or claim our address.
TEST_F(LinkServicesTest, LearnsNothingThatWasNotAskedFor) {
  answer_arp("10.0.0.3");
  answer_arp("10.0.0.1");
  EXPECT_EQ(link_.resolutions(), 0U);
  expect_kind("10.0.0.3", kAsking);
}

TEST_F(LinkServicesTest, TheTableIsBounded) {
  for (uint32_t i = 0; i < 20000; ++i) {
    Gid to = address("fd00::1");
    to.bytes[14] = static_cast<uint8_t>(i >> 8);
    to.bytes[15] = static_cast<uint8_t>(i);
    if (link_.is_own(to)) continue;
    EXPECT_EQ(link_.resolve(to, now_).kind, kAsking);
  }
  EXPECT_LE(sent().size(), 64U);
  expect_kind("10.0.0.2", kAsking);
  answer_arp("10.0.0.2");
  expect_kind("10.0.0.2", kKnown);
}

class QuietLinkTest : public LinkTest {
 protected:
  QuietLinkTest() : LinkTest(false) {}
};

// Expect: where the kernel has the addresses too, it alone answers; questions are still asked.
TEST_F(QuietLinkTest, LeavesAnswersToTheKernel) {
  const ArpPacket question{true, kPeerMac, address("10.0.0.2"), {}, address("10.0.0.1")};
  link_.handle(bytes(make_arp(question, kBroadcastMac)), now_);
  link_.announce(now_);
  link_.join(address("239.1.2.3"), now_);
  pass(seconds(3));
  link_.leave(address("239.1.2.3"));
  EXPECT_TRUE(sent().empty());
  expect_kind("10.0.0.2", kAsking);
  EXPECT_EQ(sent().size(), 1U);
}

}  // namespace
}  // namespace urxe::test
