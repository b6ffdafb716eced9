// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/address_resolution.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>

#include <cerrno>

#include "packet/host/clock.h"
#include "provider/cm/addresses/device_lookup.h"
#include "provider/cm/addresses/neighbour.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/provider/cm/own_network.h"

namespace urxe::cm {
namespace {

using test::run;
using Result = Expected<Resolved, Errno>;

constexpr Duration kLong = seconds(60);
/// For who is not there: long enough to be asked for several times.
constexpr Duration kShort = milliseconds(300);

Address ip(const std::string& text, uint16_t port = 7471, uint32_t scope_id = 0) {
  uint8_t bytes[16] = {};
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) {
    const Gid gid = bytes[0] == 0 ? Gid{} : Gid::from_ipv4(bytes);
    return make_address(AF_INET, gid, port);
  }
  EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), bytes), 1) << text;
  return make_address(AF_INET6, Gid::from_ipv6(bytes), port, scope_id);
}

Address as_ib(const Address& address) {
  return make_address(kAfIb, address.gid(), address.port(), address.scope_id());
}

/// As a driver would.
Result drive(AddressResolution& resolution) {
  for (;;) {
    const Instant now = clock_now();
    if (auto result = resolution.poll(now)) return *result;
    pollfd wait{resolution.wait_fd(), POLLIN, 0};
    const int64_t ms = (resolution.deadline() - now).ns / 1000000 + 1;
    ::poll(&wait, 1, static_cast<int>(ms));
  }
}

Result resolve(const Address& source, const Address& destination, Duration timeout = kLong) {
  auto started = AddressResolution::start(source, destination, timeout, clock_now());
  if (!started) return error(started.error().value);
  return drive(**started);
}

Result resolve(const Address& destination) {
  return resolve(Address{}, destination);
}

int error_of(const Result& result) {
  return result ? 0 : result.error().value;
}

class AddressResolutionTest : public test::OwnNetwork {
 protected:
  /// Expect: by way of urxa, from `source`.
  static void expect_urxa(const Result& result, const Address& source, const Address& destination) {
    ASSERT_TRUE(result) << error_of(result);
    EXPECT_EQ(result->device, "urxe_urxa");
    EXPECT_EQ(result->port, 1);
    EXPECT_EQ(to_string(result->source), to_string(source));
    EXPECT_EQ(to_string(result->destination), to_string(destination));
    EXPECT_EQ(result->remote, destination.gid());
    EXPECT_EQ(result->local, source.gid());
    const auto local = find_device(source);
    ASSERT_TRUE(local);
    EXPECT_EQ(result->gid_index, local->index);
  }
  std::string their_link_local() {
    EXPECT_TRUE(theirs_.enter());
    const std::string address = link_local("urxb");
    EXPECT_TRUE(ours_.enter());
    return address;
  }
};

TEST_F(AddressResolutionTest, ANeighbourIsFound) {
  expect_urxa(resolve(ip("10.99.0.2")), ip("10.99.0.1", 0), ip("10.99.0.2"));
  expect_urxa(resolve(ip("fd00:99::2")), ip("fd00:99::1", 0), ip("fd00:99::2"));
}

TEST_F(AddressResolutionTest, ALinkLocalNeighbourIsFoundOnItsLink) {
  const uint32_t link = interface("urxa");
  const Address own = ip(link_local("urxa"), 0, link);
  const Address peer = ip(their_link_local(), 7471, link);
  expect_urxa(resolve(peer), own, peer);
  const Address without = ip(their_link_local());
  EXPECT_EQ(error_of(resolve(without)), EINVAL) << "which link?";
  expect_urxa(resolve(own, without), own, peer);
}

TEST_F(AddressResolutionTest, AKnownNeighbourIsNotWaitedFor) {
  ASSERT_TRUE(run("ip neigh add 10.99.0.50 lladdr 02:00:00:00:00:50 dev urxa nud stale"));
  const auto resolution = AddressResolution::start({}, ip("10.99.0.50"), kLong, Instant{1000});
  ASSERT_TRUE(resolution);
  EXPECT_EQ((*resolution)->deadline(), Instant{1000}) << "to be asked at once";
  const auto result = (*resolution)->poll(Instant{1000});
  ASSERT_TRUE(result);
  expect_urxa(*result, ip("10.99.0.1", 0), ip("10.99.0.50"));
  EXPECT_EQ((*resolution)->wait_fd(), -1);
  EXPECT_TRUE((*resolution)->poll(Instant{1000})) << "again";
}

TEST_F(AddressResolutionTest, ANeighbourThatDoesNotAnswerTimesOut) {
  EXPECT_EQ(error_of(resolve({}, ip("10.99.0.77"), kShort)), ETIMEDOUT);
  EXPECT_EQ(error_of(resolve({}, ip("fd00:99::77"), kShort)), ETIMEDOUT);
  EXPECT_EQ(error_of(resolve({}, ip("10.99.0.77"), kShort)), ETIMEDOUT) << "the kernel knows that";
}

TEST_F(AddressResolutionTest, ANeighbourThatCameBackIsFound) {
  EXPECT_EQ(error_of(resolve({}, ip("10.99.0.78"), kShort)), ETIMEDOUT);
  ASSERT_TRUE(theirs_.enter());
  ASSERT_TRUE(run("ip addr add 10.99.0.78/24 dev urxb"));
  ASSERT_TRUE(ours_.enter());
  expect_urxa(resolve(ip("10.99.0.78")), ip("10.99.0.1", 0), ip("10.99.0.78"));
}

TEST_F(AddressResolutionTest, ANeighbourThatComesLateIsFound) {
  const Address late = ip("10.99.0.78");
  const auto resolution = AddressResolution::start({}, late, kLong, clock_now());
  ASSERT_TRUE(resolution);
  ASSERT_FALSE((*resolution)->poll(clock_now()));
  const uint32_t link = interface("urxa");
  while (neighbour_state(late.gid(), link) != NeighbourState::kNoAnswer) usleep(1000);
  EXPECT_FALSE((*resolution)->poll(clock_now())) << "there is time";
  ASSERT_TRUE(theirs_.enter());
  ASSERT_TRUE(run("ip addr add 10.99.0.78/24 dev urxb"));
  ASSERT_TRUE(ours_.enter());
  expect_urxa(drive(**resolution), ip("10.99.0.1", 0), late);
}

TEST_F(AddressResolutionTest, WhatTakesTooLongTimesOut) {
  ASSERT_TRUE(run("sysctl -q -w net.ipv4.neigh.urxa.retrans_time_ms=600000"));
  const auto resolution = AddressResolution::start({}, ip("10.99.0.77"), seconds(2), Instant{0});
  ASSERT_TRUE(resolution);
  ASSERT_FALSE((*resolution)->poll(Instant{0}));
  EXPECT_GE((*resolution)->wait_fd(), 0);
  EXPECT_LE((*resolution)->deadline(), Instant{0} + seconds(2));
  EXPECT_FALSE((*resolution)->poll(Instant{0} + milliseconds(1999)));
  const auto result = (*resolution)->poll(Instant{0} + seconds(2));
  ASSERT_TRUE(result);
  EXPECT_EQ(error_of(*result), ETIMEDOUT);
  EXPECT_EQ((*resolution)->wait_fd(), -1);
}

TEST_F(AddressResolutionTest, ARouterStandsForWhatIsBehindIt) {
  ASSERT_TRUE(run("ip route add 192.0.2.0/25 via 10.99.0.2"));
  ASSERT_TRUE(run("ip route add 192.0.2.128/25 via 10.99.0.77"));
  ASSERT_TRUE(run("ip -6 route add 2001:db8::/32 via fd00:99::2"));
  ASSERT_TRUE(run("ip route add 198.51.100.0/24 via inet6 fd00:99::2 dev urxa"));
  expect_urxa(resolve(ip("192.0.2.1")), ip("10.99.0.1", 0), ip("192.0.2.1"));
  expect_urxa(resolve(ip("2001:db8::1")), ip("fd00:99::1", 0), ip("2001:db8::1"));
  expect_urxa(resolve(ip("198.51.100.1")), ip("10.99.0.1", 0), ip("198.51.100.1"));
  EXPECT_EQ(error_of(resolve({}, ip("192.0.2.129"), kShort)), ETIMEDOUT) << "a dead router";
}

TEST_F(AddressResolutionTest, WithoutARouteTheNetworkIsUnreachable) {
  ASSERT_TRUE(run("ip route add unreachable 203.0.113.0/24"));
  ASSERT_TRUE(run("ip route add prohibit 198.51.100.0/24"));
  ASSERT_TRUE(run("ip route add blackhole 198.18.0.0/24"));
  EXPECT_EQ(error_of(resolve(ip("192.0.2.1"))), ENETUNREACH);
  EXPECT_EQ(error_of(resolve(ip("2001:db8::1"))), ENETUNREACH);
  EXPECT_EQ(error_of(resolve(ip("198.51.100.1"))), EACCES);
  EXPECT_EQ(error_of(resolve(ip("198.18.0.1"))), EINVAL);
  EXPECT_EQ(error_of(resolve(ip("203.0.113.1"))), EHOSTUNREACH);
  EXPECT_EQ(error_of(resolve(ip("10.99.0.255"))), ENETUNREACH) << "a broadcast address";
}

TEST_F(AddressResolutionTest, OurOwnAddressesAreReachedByTheDeviceThatHasThem) {
  expect_urxa(resolve(ip("10.99.0.1")), ip("10.99.0.1", 0), ip("10.99.0.1"));
  expect_urxa(resolve(ip("fd00:99::1")), ip("fd00:99::1", 0), ip("fd00:99::1"));
  const uint32_t link = interface("urxa");
  const Address own = ip(link_local("urxa"), 7471, link);
  expect_urxa(resolve(own), ip(link_local("urxa"), 0, link), own);
}

TEST_F(AddressResolutionTest, LoopbackAddressesAreTheLoopbackDevices) {
  for (const char* text : {"127.0.0.1", "::1"}) {
    const auto result = resolve(ip(text));
    ASSERT_TRUE(result) << text;
    EXPECT_EQ(result->device, "urxe_lo");
    EXPECT_EQ(to_string(result->source), to_string(ip(text, 0)));
    EXPECT_EQ(result->remote, ip(text).gid());
  }
  const auto other = resolve(ip("127.0.0.5"));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->device, "urxe_lo");
  EXPECT_EQ(other->remote, ip("127.0.0.1").gid()) << "the only GID there is for it";
  EXPECT_EQ(to_string(other->destination), "127.0.0.5:7471");
}

TEST_F(AddressResolutionTest, WithoutALoopbackDeviceAnotherLeadsToThisHost) {
  publish_only({"urxa"});
  for (const auto& [text, own] : {std::pair("127.0.0.5", "10.99.0.1"), {"::1", "fd00:99::1"}}) {
    const auto result = resolve(ip(text));
    ASSERT_TRUE(result) << text;
    EXPECT_EQ(result->device, "urxe_urxa");
    EXPECT_EQ(to_string(result->destination), to_string(ip(text)));
    EXPECT_EQ(result->local, ip(own).gid());
    EXPECT_EQ(result->remote, result->local);
  }
  ASSERT_TRUE(run("ip link set urxa down"));
  publish_only({"lo"});
  EXPECT_EQ(find_local(ip("127.0.0.5"))->device, "urxe_lo");
}

TEST_F(AddressResolutionTest, NoAddressStandsForOurOwn) {
  const auto loopback = resolve(ip("0.0.0.0"));
  ASSERT_TRUE(loopback);
  EXPECT_EQ(to_string(loopback->destination), "127.0.0.1:7471");
  EXPECT_EQ(loopback->device, "urxe_lo");
  const auto ipv6 = resolve(ip("::"));
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(to_string(ipv6->destination), "[::1]:7471");
  expect_urxa(resolve(ip("10.99.0.1", 5), ip("0.0.0.0")), ip("10.99.0.1", 5), ip("10.99.0.1"));
}

TEST_F(AddressResolutionTest, ASourceIsKept) {
  ASSERT_TRUE(run("ip addr add 10.99.0.3/24 dev urxa"));
  publish_devices();
  expect_urxa(resolve(ip("10.99.0.3", 33), ip("10.99.0.2")), ip("10.99.0.3", 33), ip("10.99.0.2"));
  expect_urxa(resolve(ip("0.0.0.0", 33), ip("10.99.0.2")), ip("10.99.0.1", 33), ip("10.99.0.2"));
  expect_urxa(resolve(ip("10.99.0.3", 33), ip("10.99.0.1")), ip("10.99.0.3", 33), ip("10.99.0.1"));
  const auto loopback = resolve(ip("127.0.0.1", 33), ip("10.99.0.1"));
  ASSERT_TRUE(loopback);
  EXPECT_EQ(loopback->device, "urxe_lo");
}

TEST_F(AddressResolutionTest, ASourceThatIsNotOursIsRefused) {
  EXPECT_EQ(error_of(resolve(ip("10.99.0.9"), ip("10.99.0.2"))), EADDRNOTAVAIL);
  EXPECT_EQ(error_of(resolve(ip("fd00:99::9"), ip("fd00:99::2"))), EADDRNOTAVAIL);
}

TEST_F(AddressResolutionTest, FamiliesDoNotMix) {
  EXPECT_EQ(error_of(resolve(ip("10.99.0.1"), ip("fd00:99::2"))), EINVAL);
  EXPECT_EQ(error_of(resolve(as_ib(ip("10.99.0.1")), ip("10.99.0.2"))), EINVAL);
  EXPECT_EQ(error_of(resolve(Address{})), EINVAL);
}

TEST_F(AddressResolutionTest, AnInterfaceWithoutDeviceIsNoWay) {
  ASSERT_TRUE(
      run("ip link add urxc type veth peer name urxd && ip link set urxc up && "
          "ip addr add 10.98.0.1/24 dev urxc && ip link set urxd up"));
  EXPECT_EQ(error_of(resolve(ip("10.98.0.2"))), ENODEV);
  EXPECT_EQ(error_of(resolve(ip("10.98.0.1"))), ENODEV);
  EXPECT_EQ(error_of(resolve(ip("10.98.0.1"), ip("10.99.0.2"))), ENODEV);
}

TEST_F(AddressResolutionTest, AnAddressThatWasAddedLaterIsFound) {
  ASSERT_TRUE(run("ip addr add 10.97.0.1/24 dev urxa"));
  const auto local = find_local(ip("10.97.0.1"));
  ASSERT_TRUE(local);
  EXPECT_EQ(local->device, "urxe_urxa");
  EXPECT_EQ(local->gid, ip("10.97.0.1").gid());
}

TEST_F(AddressResolutionTest, LocalAddressesHaveTheirDevices) {
  EXPECT_EQ(find_local(ip("10.99.0.1"))->device, "urxe_urxa");
  EXPECT_EQ(find_local(ip("127.0.0.9"))->device, "urxe_lo");
  EXPECT_EQ(find_local(ip("::1"))->device, "urxe_lo");
  EXPECT_EQ(find_local(as_ib(ip("10.99.0.1")))->device, "urxe_urxa");
  const std::string link_address = link_local("urxa");
  EXPECT_EQ(find_local(ip(link_address, 0, interface("urxa")))->device, "urxe_urxa");
  EXPECT_EQ(find_local(ip(link_address, 0, interface("lo"))).error().value, EADDRNOTAVAIL);
  for (const char* text : {"10.99.0.2", "0.0.0.0", "::", "239.1.2.3", "fd00:99::2"}) {
    const auto none = find_local(ip(text));
    ASSERT_FALSE(none) << text;
    EXPECT_EQ(none.error().value, EADDRNOTAVAIL) << text;
  }
}

TEST_F(AddressResolutionTest, AGroupNeedsNoNeighbour) {
  EXPECT_EQ(error_of(resolve(ip("239.1.2.3"))), ENETUNREACH) << "no route to it";
  expect_urxa(resolve(ip("10.99.0.1"), ip("239.1.2.3")), ip("10.99.0.1"), ip("239.1.2.3"));
  ASSERT_TRUE(run("ip route add 239.0.0.0/8 dev urxa"));
  expect_urxa(resolve(ip("239.1.2.3")), ip("10.99.0.1", 0), ip("239.1.2.3"));
  const uint32_t link = interface("urxa");
  const Address own = ip(link_local("urxa"), 0, link);
  expect_urxa(resolve(ip("ff02::5", 7471, link)), own, ip("ff02::5", 7471, link));
  expect_urxa(resolve(ip("fd00:99::1"), ip("ff0e::5")), ip("fd00:99::1"), ip("ff0e::5"));
}

TEST_F(AddressResolutionTest, IbAddressesAreResolvedAsWhatTheyAre) {
  expect_urxa(resolve(as_ib(ip("10.99.0.2"))), as_ib(ip("10.99.0.1", 0)), as_ib(ip("10.99.0.2")));
  const uint32_t link = interface("urxa");
  const Address own = as_ib(ip(link_local("urxa"), 0, link));
  const Address peer = as_ib(ip(their_link_local(), 7471, link));
  expect_urxa(resolve(peer), own, peer);
  const Address without = as_ib(ip(their_link_local()));
  expect_urxa(resolve(without), own, peer);
  EXPECT_EQ(resolve(without)->source.family(), kAfIb);
  EXPECT_EQ(error_of(resolve({}, as_ib(ip("10.99.0.77")), kShort)), ETIMEDOUT);
}

TEST_F(AddressResolutionTest, NoPrivilegeIsNeeded) {
  const test::ChildProcess child([](int pipe) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) _exit(1);
    test::write_record(pipe, error_of(resolve(ip("10.99.0.2"))));
    test::write_record(pipe, error_of(resolve({}, ip("10.99.0.77"), kShort)));
  });
  EXPECT_EQ(child.read<int>(), 0);
  EXPECT_EQ(child.read<int>(), ETIMEDOUT);
}

TEST_F(AddressResolutionTest, AnInterfaceWithoutNeighboursHasNoneToAsk) {
  ASSERT_TRUE(run("ip link set urxa arp off"));
  expect_urxa(resolve(ip("10.99.0.77")), ip("10.99.0.1", 0), ip("10.99.0.77"));
}

}  // namespace
}  // namespace urxe::cm
