// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/packet_owner.h"

#include <gtest/gtest.h>

#include <vector>

#include "packet/wire/cm/mad_agent.h"
#include "packet/wire/icrc.h"
#include "packet/wire/opcode.h"

namespace urxe::test {
namespace {

TEST(PacketOwner, QueuePairOneAndMulticastAreEverybodys) {
  std::vector<uint8_t> packet(16, 0);
  packet[7] = 1;
  EXPECT_EQ(owner_slot(packet, 42), kGsiOwner);
  packet[5] = packet[6] = packet[7] = 0xff;
  EXPECT_EQ(owner_slot(packet, 42), 42U);
  packet[7] = 0xfe;
  EXPECT_EQ(owner_slot(packet, 42), 511U);
  EXPECT_EQ(owner_slot(std::span(packet).first(7), 42), 42U) << "too short to say";
}

TEST(GsiOwner, BytesThatAreNoMadAreWhoeverHasThem) {
  EXPECT_EQ(gsi_owner({}), GsiOwner{});
  std::vector<uint8_t> bytes(279);
  bytes[0] = Opcode(Service::kUd, Operation::kSendOnly).value;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(gsi_owner(std::span(bytes).first(size)), GsiOwner{});
  }
}

std::vector<uint8_t> packet_of(const MadHeader& header) {
  MadBytes mad{};
  write_mad_header(header, mad);
  std::vector<uint8_t> packet(20);
  packet[0] = Opcode(Service::kUd, Operation::kSendOnly).value;
  packet.insert(packet.end(), mad.begin(), mad.end());
  packet.resize(packet.size() + kIcrcBytes);
  return packet;
}

TEST(GsiOwner, AgentsRequestsGoByTheirKeyAndResponsesByTheirTransaction) {
  constexpr uint64_t kSlot = 0x1a5;
  MadHeader header{.management_class = 0x04,
                   .class_version = 1,
                   .method = 1,
                   .transaction_id = kSlot << 55 | 77};
  EXPECT_EQ(gsi_owner(packet_of(header)),
            (GsiOwner{GsiOwner::Kind::kAgent, agent_service({0x04, 1, 0}).value()}));
  header.method = 0x81;
  EXPECT_EQ(gsi_owner(packet_of(header)), (GsiOwner{GsiOwner::Kind::kSlot, kSlot}));
  header.base_version = 2;
  EXPECT_EQ(gsi_owner(packet_of(header)), (GsiOwner{GsiOwner::Kind::kEveryone}));
}

}  // namespace
}  // namespace urxe::test
