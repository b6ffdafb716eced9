// SPDX-License-Identifier: BSD-2-Clause
// Where MADs of other classes than the connection manager's go.
#include "packet/wire/cm/mad_agent.h"

#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "packet/base/bytes.h"

namespace urxe::test {
namespace {

MadBytes agent_mad(uint8_t management_class, uint8_t method, uint32_t modifier = 0) {
  MadBytes mad{};
  write_mad_header({.management_class = management_class,
                    .class_version = 1,
                    .method = method,
                    .transaction_id = 0x8123456700000009,
                    .attribute_modifier = modifier},
                   mad);
  store_be24(mad.data() + 37, 0x001405);
  return mad;
}

TEST(MadAgent, RequestGoesToTheServiceOfItsKey) {
  const MadAgentKey ping{0x32, 1, 0x001405};
  EXPECT_EQ(agent_key_of(agent_mad(0x32, 1)), ping);
  EXPECT_EQ(agent_route_of(agent_mad(0x32, 1)), MadRoute(ToService{agent_service(ping)}));
  const MadAgentKey performance{0x04, 1, 0};
  EXPECT_EQ(agent_key_of(agent_mad(0x04, 2)), performance) << "no OUI there";
  std::set<uint64_t> services;
  for (const MadAgentKey& key : {ping, performance, MadAgentKey{0x32, 2, 0x001405},
                                 MadAgentKey{0x33, 1, 0x001405}, MadAgentKey{0x32, 1, 1}}) {
    services.insert(agent_service(key).value());
  }
  EXPECT_EQ(services.size(), 5U);
}

TEST(MadAgent, VendorsShareClassesFrom30To4f) {
  EXPECT_FALSE(has_oui(0x2f));
  EXPECT_TRUE(has_oui(0x30));
  EXPECT_TRUE(has_oui(0x4f));
  EXPECT_FALSE(has_oui(0x50));
}

TEST(MadAgent, ResponseGoesToWhoHasBegunTheTransaction) {
  const MadRoute expected = ToCommunication{CommId(0x81234567)};
  EXPECT_EQ(agent_route_of(agent_mad(0x32, 0x81)), expected);
  EXPECT_EQ(agent_route_of(agent_mad(0x03, 0x92)), expected);
  EXPECT_EQ(agent_route_of(agent_mad(0x03, 0x07)), expected) << "TrapRepress has no response bit";
  EXPECT_EQ(agent_route_of(agent_mad(0x05, 0x03, 1)), expected)
      << "board management: in the modifier";
  EXPECT_TRUE(std::holds_alternative<ToService>(agent_route_of(agent_mad(0x05, 0x03, 0))));
  EXPECT_TRUE(std::holds_alternative<ToService>(agent_route_of(agent_mad(0x04, 0x03, 1))));
}

}  // namespace
}  // namespace urxe::test
