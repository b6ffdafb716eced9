// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/packet_owner.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace urxe::test
