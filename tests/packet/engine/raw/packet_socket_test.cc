// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/packet_socket.h"

#include <gtest/gtest.h>

namespace urxe {
namespace {

TEST(PacketSocket, CarriesBatchesSinceLinux62) {
  EXPECT_FALSE(packet_sockets_carry_batches("5.15.0-91-generic"));
  EXPECT_FALSE(packet_sockets_carry_batches("6.1.0-56-amd64"));
  EXPECT_TRUE(packet_sockets_carry_batches("6.2.0"));
  EXPECT_TRUE(packet_sockets_carry_batches("6.18.44"));
  EXPECT_TRUE(packet_sockets_carry_batches("10.0-rc1"));
  EXPECT_TRUE(packet_sockets_carry_batches("another"));
}

}  // namespace
}  // namespace urxe
