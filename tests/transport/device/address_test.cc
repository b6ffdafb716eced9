// SPDX-License-Identifier: BSD-2-Clause
// Source ports of connected queue pairs (annex A17.4).
#include "transport/device/address.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "packet/wire/qpn_layout.h"

namespace urxe::test {
namespace {

// The defect: each queue pair had a port of its own, so packets of two never shared a datagram.
// Expect: queue pairs of the same two processes have one port.
TEST(SourcePort, IsOneForTwoProcesses) {
  const uint16_t port = source_port_for(0, make_qpn(3, 17), make_qpn(5, 1));
  EXPECT_EQ(source_port_for(0, make_qpn(3, 18), make_qpn(5, 2)), port);
  EXPECT_EQ(source_port_for(0, make_qpn(3, 0), make_qpn(5, 32767)), port);
  EXPECT_GE(port, 0xc000);
}

// Expect: a process sends to its peers from different ports, and two processes of one address that
// are each other's peers do not want the same one.
TEST(SourcePort, DiffersByProcess) {
  std::set<uint16_t> ports;
  for (uint32_t slot = 0; slot < 64; ++slot) {
    ports.insert(source_port_for(0, make_qpn(3, 1), make_qpn(slot, 1)));
  }
  EXPECT_GT(ports.size(), 60U);
  EXPECT_NE(source_port_for(0, make_qpn(1, 1), make_qpn(2, 1)),
            source_port_for(0, make_qpn(2, 1), make_qpn(1, 1)));
}

// Expect: a flow label chooses the port, whatever the numbers.
TEST(SourcePort, IsTheFlowLabels) {
  EXPECT_EQ(source_port_for(0x12345, make_qpn(1, 1), make_qpn(2, 1)), 0xe341);
  EXPECT_EQ(source_port_for(0x12345, make_qpn(7, 9), make_qpn(2, 1)), 0xe341);
}

// Expect: both ends of a path are addresses, of one IP version, and the entry of the GID table is
// not empty.
TEST(AddressVector, IsOfOneIpVersion) {
  constexpr uint8_t kIpv4[4] = {192, 0, 2, 1};
  constexpr uint8_t kIpv6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  DeviceConfig config;
  config.gids = {Gid::from_ipv4(kIpv4), Gid::from_ipv6(kIpv6), Gid{}};
  const auto is_valid = [&](uint8_t source, const Gid& destination) {
    ibv_ah_attr av{};
    av.is_global = 1;
    av.port_num = 1;
    av.grh.sgid_index = source;
    std::memcpy(av.grh.dgid.raw, destination.bytes.data(), destination.bytes.size());
    return address_is_valid(config, av);
  };
  EXPECT_TRUE(is_valid(0, config.gids[0]));
  EXPECT_TRUE(is_valid(1, config.gids[1]));
  EXPECT_FALSE(is_valid(0, config.gids[1]));
  EXPECT_FALSE(is_valid(1, config.gids[0]));
  EXPECT_FALSE(is_valid(1, Gid{}));
  EXPECT_FALSE(is_valid(2, config.gids[1]));
  EXPECT_FALSE(is_valid(3, config.gids[1]));
}

}  // namespace
}  // namespace urxe::test
