// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/closed_ports.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "packet/host/socket_address.h"
#include "packet/host/spare_sockets.h"
#include "packet/wire/types.h"
#include "tests/support/isolation.h"

namespace urxe::test::closed_ports_test {
namespace {

constexpr Instant kStart = Instant{} + seconds(100);

/// An address of the loopback interface that no other test uses.
Gid address(uint8_t last) {
  const uint8_t bytes[4] = {127, 43, 21, last};
  return Gid::from_ipv4(bytes);
}

FileDescriptor have_port(const Gid& local) {
  FileDescriptor fd = open_udp_socket(true);
  const SocketAddress to(local, kRoceUdpPort, 0);
  EXPECT_EQ(bind(fd.get(), to.get(), to.size()), 0);
  return fd;
}

/// Somebody else of this host may have the port at all addresses.
class ClosedPortsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!isolated()) GTEST_SKIP() << "needs a network namespace of its own";
  }
};

/// The loopback interface delivers errors before send() returns, and limits none.
TEST_F(ClosedPortsTest, TwoErrorsTell) {
  ClosedPorts ports;
  EXPECT_FALSE(ports.look(address(1), address(2), 0, kStart));
  EXPECT_FALSE(ports.look(address(1), address(2), 0, kStart + milliseconds(300)));
  EXPECT_TRUE(ports.look(address(1), address(2), 0, kStart + milliseconds(600)));
  EXPECT_FALSE(ports.next_expiry()) << "it has a descriptor no longer";
  EXPECT_FALSE(ports.look(address(1), address(2), 0, kStart + milliseconds(900))) << "begins anew";
}

TEST_F(ClosedPortsTest, APortThatSomebodyHasIsNotClosed) {
  ClosedPorts ports;
  const FileDescriptor owner = have_port(address(3));
  Instant now = kStart;
  for (int i = 0; i < 10; ++i, now = now + milliseconds(300)) {
    EXPECT_FALSE(ports.look(address(1), address(3), 0, now));
  }
}

TEST_F(ClosedPortsTest, HostsAreToldApart) {
  ClosedPorts ports;
  const FileDescriptor owner = have_port(address(4));
  Instant now = kStart;
  for (int i = 0; i < 2; ++i, now = now + milliseconds(300)) {
    EXPECT_FALSE(ports.look(address(1), address(4), 0, now));
    EXPECT_FALSE(ports.look(address(1), address(5), 0, now));
    EXPECT_FALSE(ports.look(address(2), address(5), 0, now));
  }
  EXPECT_FALSE(ports.look(address(1), address(4), 0, now));
  EXPECT_TRUE(ports.look(address(1), address(5), 0, now));
  EXPECT_TRUE(ports.look(address(2), address(5), 0, now));
}

TEST_F(ClosedPortsTest, LooksThatNobodyRepeatsAreForgotten) {
  ClosedPorts ports;
  EXPECT_FALSE(ports.look(address(1), address(6), 0, kStart));
  EXPECT_FALSE(ports.look(address(1), address(6), 0, kStart + milliseconds(300)));
  const Instant expiry = kStart + milliseconds(300) + ClosedPorts::kKeep;
  ASSERT_EQ(ports.next_expiry(), expiry);
  EXPECT_FALSE(ports.look(address(1), address(6), 0, expiry)) << "the first error is too old";
  ports.expire(expiry + ClosedPorts::kKeep);
  EXPECT_FALSE(ports.next_expiry());
}

TEST_F(ClosedPortsTest, LooksAtAFewHostsAtATime) {
  ClosedPorts ports;
  const auto look_at_all = [&](Instant now) {
    size_t closed = 0;
    for (uint8_t i = 0; i < ClosedPorts::kMost + 4; ++i) {
      if (ports.look(address(1), address(static_cast<uint8_t>(100 + i)), 0, now)) ++closed;
    }
    return closed;
  };
  EXPECT_EQ(look_at_all(kStart), 0u);
  EXPECT_EQ(look_at_all(kStart + milliseconds(300)), 0u);
  EXPECT_EQ(look_at_all(kStart + milliseconds(600)), ClosedPorts::kMost);
}

TEST_F(ClosedPortsTest, AnAddressThatIsNotOursFindsNothing) {
  ClosedPorts ports;
  const uint8_t bytes[4] = {192, 0, 2, 77};
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(ports.look(Gid::from_ipv4(bytes), address(7), 0, kStart + milliseconds(300) * i));
  }
}

}  // namespace
}  // namespace urxe::test::closed_ports_test
