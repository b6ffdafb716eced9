// SPDX-License-Identifier: BSD-2-Clause
// Agents of management classes other than the connection manager's (IBTA vol. 1, 13.4 and 13.5.3).
#include "transport/mad/mad_agents.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

#include "packet/base/bytes.h"

namespace urxe::test::mad_agents_test {
namespace {

constexpr uint8_t kPingClass = 0x32;
constexpr uint32_t kOui = 0x001405;
constexpr MadAgentKey kPing{kPingClass, 1, kOui};
constexpr uint8_t kGet = 1;
constexpr uint8_t kSet = 2;
constexpr uint8_t kGetResp = 0x81;
constexpr MadMethods kGets{1 << kGet, 0};
constexpr Qpn kPeersQpn{0x123};
constexpr Instant kStart{1000000};
constexpr Duration kTimeout = milliseconds(10);

Gid address(uint8_t last) {
  const uint8_t bytes[4] = {192, 0, 2, last};
  return Gid::from_ipv4(bytes);
}
const Gid kOwn = address(1);
const Gid kPeer = address(2);

struct MadFields {
  uint8_t method = kGet;
  uint64_t transaction = 5;
  MadAgentKey key = kPing;
};

MadBytes make_mad(const MadFields& fields) {
  MadBytes mad{};
  write_mad_header({.management_class = fields.key.management_class,
                    .class_version = fields.key.class_version,
                    .method = fields.method,
                    .transaction_id = fields.transaction},
                   mad);
  store_be24(mad.data() + 37, fields.key.oui);
  return mad;
}

OutgoingMad to_peer(const MadFields& fields) {
  OutgoingMad out;
  out.flow.source = kOwn;
  out.flow.destination = kPeer;
  out.mad = make_mad(fields);
  return out;
}

class MadAgentsTest : public testing::Test {
 protected:
  MadAgentId add(const MadMethods& methods, const MadAgentKey& key = kPing) {
    return agents_.add({key, methods}).value();
  }
  void receive(const MadFields& fields, const Gid& source = kPeer) {
    Flow flow;
    flow.source = source;
    flow.destination = kOwn;
    agents_.receive(make_mad(fields), flow, kPeersQpn);
  }
  /// The transaction id of the next MAD on its way; 0: there is none.
  uint64_t sent() {
    const OutgoingMad* const out = agents_.take_outgoing();
    return out != nullptr ? read_mad_header(out->mad).transaction_id : 0;
  }
  uint64_t dropped(MadDropReason reason) const {
    return agents_.drops()[static_cast<size_t>(reason)];
  }
  uint64_t all_dropped() const {
    uint64_t sum = 0;
    for (const uint64_t count : agents_.drops()) sum += count;
    return sum;
  }

  MadAgents agents_;
};

TEST_F(MadAgentsTest, RequestGoesToTheAgentOfItsKeyAndMethod) {
  const MadAgentId getter = add(kGets);
  const MadAgentId setter = add({1 << kSet, 0});
  const MadAgentId other = add(kGets, {kPingClass, 1, 0x777777});
  receive({});
  EXPECT_TRUE(agents_.take_news());
  EXPECT_FALSE(agents_.take_news());
  const auto event = agents_.take_event(getter);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->flow.source, kPeer);
  EXPECT_EQ(event->remote_qpn, kPeersQpn);
  EXPECT_EQ(event->mad, make_mad({}));
  EXPECT_FALSE(event->timed_out);
  EXPECT_FALSE(agents_.take_event(setter));
  EXPECT_FALSE(agents_.take_event(other));
  EXPECT_EQ(all_dropped(), 0U);
}

// Expect: dropped and counted, and no answer.
TEST_F(MadAgentsTest, RequestThatNobodyTakesIsDropped) {
  const MadAgentId agent = add(kGets);
  receive({.method = kSet});
  EXPECT_EQ(dropped(MadDropReason::kMethod), 1U);
  receive({.key = {kPingClass, 1, 0x777777}});
  receive({.key = {kPingClass, 2, kOui}});
  receive({.key = {0x04, 1, 0}});
  EXPECT_EQ(dropped(MadDropReason::kClass), 3U);
  EXPECT_FALSE(agents_.take_event(agent));
  EXPECT_FALSE(agents_.has_outgoing());
  EXPECT_FALSE(agents_.take_news());
}

TEST_F(MadAgentsTest, MethodHasOneAgent) {
  const MadAgentId first = add(kGets);
  EXPECT_EQ(agents_.add({kPing, {1 << kGet | 1 << kSet, 0}}).error().value, EINVAL);
  EXPECT_TRUE(agents_.add({kPing, {}}));  // one that only sends is in nobody's way
  EXPECT_TRUE(agents_.add({{kPingClass, 1, 0x777777}, kGets}));
  agents_.remove(first);
  EXPECT_TRUE(agents_.add({kPing, {1 << kGet | 1 << kSet, 0}}));
}

TEST_F(MadAgentsTest, HighMethodsCountToo) {
  const MadAgentId agent = add({0, uint64_t{1} << (0x46 - 64)});
  receive({.method = 0x46});
  receive({.method = 0x06});
  EXPECT_TRUE(agents_.take_event(agent));
  EXPECT_FALSE(agents_.take_event(agent));
  EXPECT_EQ(dropped(MadDropReason::kMethod), 1U);
}

TEST_F(MadAgentsTest, ResponseGoesToTheAgentThatHasAsked) {
  agents_.configure({.id_prefix = 0x1a5});
  const MadAgentId server = add(kGets);
  const MadAgentId client = add({});
  ASSERT_TRUE(agents_.send(client, to_peer({}), {kTimeout}, kStart));
  const uint64_t transaction = sent();
  EXPECT_EQ(transaction, uint64_t{client.value()} << 32 | 5);
  EXPECT_EQ(client.value() >> kCommIdIndexBits, 0x1a5U);
  receive({.method = kGetResp, .transaction = transaction});
  const auto event = agents_.take_event(client);
  ASSERT_TRUE(event);
  EXPECT_EQ(read_mad_header(event->mad).transaction_id, transaction);
  EXPECT_FALSE(event->timed_out);
  EXPECT_FALSE(agents_.take_event(server));
  EXPECT_FALSE(agents_.next_deadline());
}

// Expect: the request still waits, and is answered by the right one.
TEST_F(MadAgentsTest, ForgedResponseIsDropped) {
  const MadAgentId client = add({});
  ASSERT_TRUE(agents_.send(client, to_peer({}), {kTimeout}, kStart));
  const uint64_t transaction = sent();
  receive({.method = kGetResp, .transaction = transaction}, address(3));
  EXPECT_EQ(dropped(MadDropReason::kWrongPeer), 1U);
  receive({.method = kGetResp, .transaction = transaction + 1});
  receive({.method = kGetResp, .transaction = 5});
  EXPECT_EQ(dropped(MadDropReason::kUnknownId), 2U);
  receive({.method = kGetResp, .transaction = transaction, .key = {0x33, 1, kOui}});
  EXPECT_EQ(dropped(MadDropReason::kClass), 1U);
  EXPECT_FALSE(agents_.take_event(client));
  receive({.method = kGetResp, .transaction = transaction});
  EXPECT_TRUE(agents_.take_event(client));
  receive({.method = kGetResp, .transaction = transaction});
  EXPECT_EQ(dropped(MadDropReason::kUnknownId), 3U) << "a second response";
}

TEST_F(MadAgentsTest, ResponseKeepsItsTransactionAndIsNotWaitedFor) {
  const MadAgentId server = add(kGets);
  ASSERT_TRUE(agents_.send(server, to_peer({.method = kGetResp, .transaction = 0x1234567890}),
                           {kTimeout}, kStart));
  EXPECT_EQ(sent(), 0x1234567890U);
  EXPECT_FALSE(agents_.next_deadline());
}

TEST_F(MadAgentsTest, RequestIsSentAgainAndThenTimesOut) {
  const MadAgentId client = add({});
  MadPatience patience{kTimeout, 2, {}};
  patience.note = {7, 8, 9};
  ASSERT_TRUE(agents_.send(client, to_peer({}), patience, kStart));
  const uint64_t transaction = sent();
  Instant now = kStart;
  for (int retry = 0; retry < 2; ++retry) {
    EXPECT_EQ(agents_.next_deadline(), now + kTimeout);
    agents_.advance(now + kTimeout - nanoseconds(1));
    EXPECT_FALSE(agents_.has_outgoing());
    now = now + kTimeout;
    agents_.advance(now);
    EXPECT_EQ(sent(), transaction);
    EXPECT_FALSE(agents_.take_event(client));
  }
  agents_.advance(now + kTimeout);
  EXPECT_FALSE(agents_.has_outgoing());
  const auto event = agents_.take_event(client);
  ASSERT_TRUE(event);
  EXPECT_TRUE(event->timed_out);
  EXPECT_EQ(event->note, patience.note);
  EXPECT_EQ(event->flow.destination, kPeer);
  EXPECT_EQ(read_mad_header(event->mad).transaction_id, transaction);
  EXPECT_FALSE(agents_.next_deadline());
}

TEST_F(MadAgentsTest, RequestWithoutATimeoutIsForgotten) {
  const MadAgentId client = add({});
  ASSERT_TRUE(agents_.send(client, to_peer({}), {}, kStart));
  EXPECT_FALSE(agents_.next_deadline());
  receive({.method = kGetResp, .transaction = sent()});
  EXPECT_EQ(dropped(MadDropReason::kUnknownId), 1U);
}

TEST_F(MadAgentsTest, TransactionMayNotBeginTwice) {
  const MadAgentId client = add({});
  ASSERT_TRUE(agents_.send(client, to_peer({}), {kTimeout}, kStart));
  EXPECT_EQ(agents_.send(client, to_peer({}), {kTimeout}, kStart).error().value, EINVAL);
  EXPECT_NE(sent(), 0U);
  EXPECT_FALSE(agents_.has_outgoing());
  const MadAgentId other = add({});
  EXPECT_TRUE(agents_.send(other, to_peer({}), {kTimeout}, kStart)) << "each agent has its own";
}

// A flood fills the share of its sender, and leaves the others theirs.
TEST_F(MadAgentsTest, UnreadRequestsAreBoundedForEachSource) {
  const MadAgentId agent = add(kGets);
  for (size_t i = 0; i < MadAgents::kMaxWaitingOfOne + 3; ++i) receive({});
  EXPECT_EQ(dropped(MadDropReason::kOverQuota), 3U);
  receive({}, address(3));
  EXPECT_EQ(all_dropped(), 3U);
  for (size_t i = 0; i < MadAgents::kMaxWaitingOfOne; ++i) EXPECT_TRUE(agents_.take_event(agent));
  EXPECT_EQ(agents_.take_event(agent)->flow.source, address(3));
  receive({});
  EXPECT_EQ(all_dropped(), 3U) << "what was read takes no room";
}

TEST_F(MadAgentsTest, UnreadRequestsAreBoundedInAllForEachAgent) {
  add(kGets);
  const MadAgentId other = add({1 << kSet, 0});
  for (size_t i = 0; i < MadAgents::kMaxWaiting + 2; ++i) {
    receive({}, address(static_cast<uint8_t>(i % 200)));
  }
  EXPECT_EQ(dropped(MadDropReason::kNoRoom), 2U);
  receive({.method = kSet});
  EXPECT_TRUE(agents_.take_event(other)) << "another agent loses nothing";
}

// An IPv6 host may have all addresses of its subnet, and so no more room than one.
TEST_F(MadAgentsTest, AddressesOfOneSubnetAreOneSource) {
  add(kGets);
  for (size_t i = 0; i < MadAgents::kMaxWaitingOfOne + 1; ++i) {
    uint8_t bytes[16] = {0x20, 1, 0xd, 0xb8};
    bytes[15] = static_cast<uint8_t>(i);
    receive({}, Gid::from_ipv6(bytes));
  }
  EXPECT_EQ(dropped(MadDropReason::kOverQuota), 1U);
}

TEST_F(MadAgentsTest, RequestsOfAProgramThatReadsNothingAreBounded) {
  const MadAgentId client = add({});
  for (uint64_t i = 0; i < MadAgents::kMaxOwn; ++i) {
    ASSERT_TRUE(agents_.send(client, to_peer({.transaction = i}), {kTimeout}, kStart));
    EXPECT_EQ(sent() & 0xffffffff, i);
  }
  agents_.advance(kStart + kTimeout);
  EXPECT_EQ(agents_.send(client, to_peer({.transaction = 9999}), {kTimeout}, kStart).error().value,
            ENOMEM);
  ASSERT_TRUE(agents_.take_event(client));
  EXPECT_TRUE(agents_.send(client, to_peer({.transaction = 9999}), {kTimeout}, kStart));
}

TEST_F(MadAgentsTest, OutgoingMadsAreBounded) {
  const MadAgentId client = add({});
  for (size_t i = 0; i < MadAgents::kMaxOutgoing; ++i) {
    ASSERT_TRUE(agents_.send(client, to_peer({}), {}, kStart));
  }
  EXPECT_EQ(agents_.send(client, to_peer({}), {}, kStart).error().value, ENOMEM);
}

TEST_F(MadAgentsTest, RemovedAgentLeavesNothing) {
  const MadAgentId client = add(kGets);
  ASSERT_TRUE(agents_.send(client, to_peer({}), {kTimeout}, kStart));
  const uint64_t transaction = sent();
  agents_.remove(client);
  EXPECT_FALSE(agents_.next_deadline());
  EXPECT_FALSE(agents_.wants(make_mad({})));
  const MadAgentId next = add(kGets);
  EXPECT_NE(next, client);
  receive({.method = kGetResp, .transaction = transaction});
  EXPECT_EQ(dropped(MadDropReason::kUnknownId), 1U);
  EXPECT_FALSE(agents_.take_event(next));
  EXPECT_EQ(agents_.send(client, to_peer({}), {kTimeout}, kStart).error().value, EINVAL);
}

TEST_F(MadAgentsTest, ConnectionManagersMessagesAreNotWanted) {
  EXPECT_FALSE(agents_.wants(make_mad({}))) << "nobody is there";
  add(kGets);
  EXPECT_TRUE(agents_.wants(make_mad({})));
  EXPECT_FALSE(agents_.wants(make_mad({.key = {kCmClass, kCmClassVersion, 0}})));
}

}  // namespace
}  // namespace urxe::test::mad_agents_test
