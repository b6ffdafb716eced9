// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/udp.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "packet/host/file_descriptor.h"
#include "packet/host/socket_address.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/support/open_descriptors.h"

namespace urxe::test::udp_test {
namespace {

constexpr uint16_t kWanted = 0xc123;

struct Pair {
  explicit Pair(const Gid& a, const Gid& b, const UdpConfig& config = {})
      : left(config), right(config) {
    EXPECT_TRUE(left.open_address(a));
    EXPECT_TRUE(right.open_address(b));
    const auto left_port = left.claim_source_port(a, kWanted);
    const auto right_port = right.claim_source_port(b, kWanted);
    EXPECT_TRUE(left_port && right_port);
    to_right = {a, b, left_port.value_or(0), 0, 64};
    to_left = {b, a, right_port.value_or(0), 0, 64};
  }
  UdpEngine left;
  UdpEngine right;
  Flow to_right;
  Flow to_left;
};

/// Asked of the kernel, not of what is tested.
bool host_has(const Gid& address) {
  const FileDescriptor fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress any_port(address, 0, 0);
  return fd && bind(fd.get(), any_port.get(), any_port.size()) == 0;
}

bool kernel_segments() {
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int bytes = 1000;
  return fd && setsockopt(fd.get(), SOL_UDP, UDP_SEGMENT, &bytes, sizeof bytes) == 0;
}

/// Sends `count` packets over `flow` and expects just them, in order.
void expect_carried(PacketEngine& from, EngineLane& to, const Flow& flow, uint32_t count,
                    size_t payload_bytes) {
  TxBatch batch(from.batch_limits());
  for (uint32_t psn = 0; psn < count; ++psn) append(batch, flow, send_only(7, psn), payload_bytes);
  from.lane(0).transmit(batch);
  EXPECT_TRUE(batch.empty());
  const auto got = receive_packets(to, count);
  ASSERT_EQ(got.size(), count);
  for (uint32_t psn = 0; psn < count; ++psn) {
    ASSERT_TRUE(got[psn].headers) << drop_reason_name(got[psn].headers.error());
    EXPECT_EQ(got[psn].headers->bth.psn, Psn(psn));
    EXPECT_EQ(got[psn].payload, pattern(psn, payload_bytes));
    EXPECT_EQ(got[psn].flow, flow);
  }
  EXPECT_TRUE(to.receive().empty());
}

TEST(UdpEngine, CarriesBothWaysOverIpv4) {
  Pair pair(own_loopback(1), own_loopback(2));
  expect_carried(pair.left, pair.right, pair.to_right, 1, 32);
  expect_carried(pair.right, pair.left, pair.to_left, 1, 0);
}

TEST(UdpEngine, CarriesOverIpv6) {
  // One engine only: ::1 is the one address, and two engines without slots would share its packets.
  UdpEngine engine{UdpConfig{}};
  const Gid self = loopback_v6();
  if (!host_has(self)) GTEST_SKIP() << "no IPv6 here";
  const auto opened = engine.open_address(self);
  ASSERT_TRUE(opened) << opened.error().what;
  const auto port = engine.claim_source_port(self, kWanted);
  ASSERT_TRUE(port);
  const Flow flow{self, self, *port, 0x2a, 9};
  expect_carried(engine, engine, flow, 1, 100);
  expect_carried(engine, engine, flow, 40, 1024);
}

/// Sends one byte to the address with that IPv6 flow label, as a peer of another make might.
bool send_labelled(const Gid& to, uint32_t label) {
  struct Request {  // Linux's in6_flowlabel_req
    in6_addr destination;
    uint32_t label;
    uint8_t action, share;
    uint16_t flags, expires, linger;
    uint32_t pad;
  };
  constexpr int kLabelManager = 32, kSendFlowInfo = 33;
  constexpr uint8_t kAny = 255;
  constexpr uint16_t kCreate = 1;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(4791);
  address.sin6_flowinfo = htonl(label);
  std::memcpy(&address.sin6_addr, to.bytes.data(), 16);
  const Request request{address.sin6_addr, htonl(label), 0, kAny, kCreate, 0, 0, 0};
  const int on = 1;
  const int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool leased = setsockopt(fd, IPPROTO_IPV6, kLabelManager, &request, sizeof request) == 0 &&
                      setsockopt(fd, IPPROTO_IPV6, kSendFlowInfo, &on, sizeof on) == 0;
  const bool sent = leased && sendto(fd, "x", 1, 0, reinterpret_cast<const sockaddr*>(&address),
                                     sizeof address) == 1;
  close(fd);
  return sent;
}

// Expect: the label of a received packet, and none on packets that the engine itself sends.
TEST(UdpEngine, ReceiverSeesFlowLabel) {
  UdpEngine engine{UdpConfig{}};
  const Gid self = loopback_v6();
  if (!host_has(self)) GTEST_SKIP() << "no IPv6 here";
  const auto opened = engine.open_address(self);
  ASSERT_TRUE(opened) << opened.error().what;
  const auto port = engine.claim_source_port(self, kWanted);
  ASSERT_TRUE(port);
  for (int i = 0; i < 2; ++i) {
    if (!send_labelled(self, 0x12345)) GTEST_SKIP() << "no flow labels here";
    EXPECT_EQ(receive_packets(engine, 1).at(0).flow.flow_label, 0x12345U);
    expect_carried(engine, engine, {self, self, *port, 0, 64}, 1, 100);
  }
}

TEST(UdpEngine, SegmentsWhereTheKernelCan) {
  Pair pair(own_loopback(1), own_loopback(2));
  if (!kernel_segments()) GTEST_SKIP() << "no UDP_SEGMENT here";
  ASSERT_GT(pair.left.batch_limits().segments_per_message, 1U);
  expect_carried(pair.left, pair.right, pair.to_right, 30, 4096);
  // Expect: two datagrams of 15 packets, as many as 65000 bytes hold.
  EXPECT_EQ(pair.left.counters().tx_datagrams, 2U);
  EXPECT_EQ(pair.left.counters().tx_packets, 30U);
  EXPECT_EQ(pair.left.counters().tx_unsegmented, 0U);
}

TEST(UdpEngine, WorksWithoutSegmentation) {
  UdpConfig config;
  config.segmentation = false;
  Pair pair(own_loopback(1), own_loopback(2), config);
  EXPECT_EQ(pair.left.batch_limits().segments_per_message, 1U);
  expect_carried(pair.left, pair.right, pair.to_right, 30, 1024);
  EXPECT_EQ(pair.left.counters().tx_datagrams, 30U);
}

TEST(UdpEngine, UnsegmentsWhatWasBatchedForSegmentation) {
  UdpConfig config;
  config.segmentation = false;
  Pair pair(own_loopback(1), own_loopback(2), config);
  TxBatch::Limits limits;
  limits.segments_per_message = 8;
  limits.identification = Identification::kBySegment;
  TxBatch batch(limits);
  for (uint32_t psn = 0; psn < 8; ++psn) append(batch, pair.to_right, send_only(7, psn), 256);
  ASSERT_EQ(batch.messages().size(), 1U);
  pair.left.transmit(batch);
  const auto got = receive_packets(pair.right, 8);
  for (const Received& packet : got) EXPECT_TRUE(packet.headers);
}

TEST(UdpEngine, FallsBackForGoodWhenTheKernelRefusesToSegment) {
  Pair pair(own_loopback(1), own_loopback(2));
  if (!kernel_segments()) GTEST_SKIP() << "no UDP_SEGMENT here";
  ASSERT_GT(pair.left.batch_limits().segments_per_message, 1U);
  // A socket without checksums is one that the kernel does not segment for.
  const int fd = find_socket(pair.to_right.source, pair.to_right.source_port);
  ASSERT_GE(fd, 0);
  const int on = 1;
  ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);

  TxBatch batch(pair.left.batch_limits());
  append(batch, pair.to_right, send_only(7, 0), 8);  // a message of its own, sent before
  for (uint32_t psn = 1; psn < 6; ++psn) append(batch, pair.to_right, send_only(7, psn), 256);
  pair.left.transmit(batch);
  // Expect: every packet, one of them perhaps twice, each with the ICRC of identification 0.
  std::set<uint32_t> psns;
  for (const Received& packet : receive_packets(pair.right, 6)) {
    ASSERT_TRUE(packet.headers);
    psns.insert(packet.headers->bth.psn.value());
  }
  for (const RxPacket& packet : pair.right.receive()) {
    psns.insert(parse(packet).value().headers.bth.psn.value());
  }
  EXPECT_EQ(psns, (std::set<uint32_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(pair.left.counters().tx_unsegmented, 1U);
  EXPECT_EQ(pair.left.batch_limits().segments_per_message, 1U);
  expect_carried(pair.left, pair.right, pair.to_right, 10, 512);
}

TEST(UdpEngine, CarriesSeveralFlowsInOneBatch) {
  Pair pair(own_loopback(1), own_loopback(2));
  const auto other = pair.left.claim_source_port(pair.to_right.source, 0xd456);
  ASSERT_TRUE(other);
  Flow second = pair.to_right;
  second.source_port = *other;
  TxBatch batch(pair.left.batch_limits());
  for (uint32_t psn = 0; psn < 12; ++psn) {
    append(batch, psn % 3 == 0 ? second : pair.to_right, send_only(7, psn), 64 + psn);
  }
  pair.left.transmit(batch);
  const auto got = receive_packets(pair.right, 12);
  ASSERT_EQ(got.size(), 12U);
  for (const Received& packet : got) {
    ASSERT_TRUE(packet.headers);
    const uint32_t psn = packet.headers->bth.psn.value();
    EXPECT_EQ(packet.flow, psn % 3 == 0 ? second : pair.to_right);
    EXPECT_EQ(packet.payload, pattern(psn, 64 + psn));
  }
}

TEST(UdpEngine, ReceiverSeesTrafficClassAndHopLimit) {
  Pair pair(own_loopback(1), own_loopback(2));
  for (const auto& [traffic_class, hop_limit] : {std::pair{0x6a, 1}, {0, 255}, {0xff, 64}}) {
    Flow flow = pair.to_right;
    flow.traffic_class = static_cast<uint8_t>(traffic_class);
    flow.hop_limit = static_cast<uint8_t>(hop_limit);
    expect_carried(pair.left, pair.right, flow, 1, 4);
    expect_carried(pair.left, pair.right, flow, 5, 512);
  }
}

TEST(UdpEngine, HopLimitZeroLeavesWithTheDefault) {
  Pair pair(own_loopback(1), own_loopback(2));
  Flow flow = pair.to_right;
  flow.hop_limit = 0;
  TxBatch batch(pair.left.batch_limits());
  append(batch, flow, send_only(7, 0), 4);
  pair.left.transmit(batch);
  EXPECT_EQ(receive_packets(pair.right, 1).at(0).flow.hop_limit, kDefaultHopLimit);
}

TEST(UdpEngine, ReceivesOnSeveralAddresses) {
  Pair pair(own_loopback(1), own_loopback(2));
  const Gid third = own_loopback(3);
  ASSERT_TRUE(pair.right.open_address(third));
  ASSERT_TRUE(pair.right.open_address(third)) << "opening it again does nothing";
  Flow to_third = pair.to_right;
  to_third.destination = third;
  for (int round = 0; round < 3; ++round) {
    TxBatch batch(pair.left.batch_limits());
    append(batch, pair.to_right, send_only(7, 0), 4);
    append(batch, to_third, send_only(7, 1), 4);
    pair.left.transmit(batch);
    const auto got = receive_packets(pair.right, 2);
    ASSERT_EQ(got.size(), 2U);
    for (const Received& packet : got) {
      ASSERT_TRUE(packet.headers);
      EXPECT_EQ(packet.flow, packet.headers->bth.psn == Psn(1) ? to_third : pair.to_right);
    }
  }
}

// Expect: a closed address leaves no socket, to receive or to send, nor a held port; it can be
// opened again; and what waited for room at one of its sockets is lost, not sent by another.
TEST(UdpEngine, AClosedAddressLeavesNoSocket) {
  const Gid self = own_loopback(1);
  const Gid peer = own_loopback(2);
  UdpEngine engine{UdpConfig()};
  UdpEngine other{UdpConfig()};
  ASSERT_TRUE(other.open_address(peer));
  ASSERT_TRUE(engine.open_address(own_loopback(3)));
  const size_t before = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(engine.open_address(self));
    const uint16_t port = engine.claim_source_port(self, kWanted).value();
    expect_carried(engine, other, {self, peer, port, 0, 64}, 3, 16);
    EXPECT_GT(open_descriptors(), before);
    if (round != 1) engine.release_source_port(self, port);
    engine.close_address(self);
    engine.close_address(self);
    EXPECT_EQ(open_descriptors(), before);
    TxBatch batch(engine.batch_limits());
    append(batch, {self, peer, port, 0, 64}, send_only(7, 9), 16);
    engine.transmit(batch);
    EXPECT_TRUE(batch.empty());
    EXPECT_TRUE(engine.receive().empty());
    EXPECT_FALSE(engine.claim_source_port(self, kWanted)) << "the address is not open";
  }
  EXPECT_EQ(engine.counters().tx_no_socket, 3U);
  EXPECT_TRUE(other.receive().empty());
}

TEST(UdpEngine, FindsTheAddressThatWokeItAtOnce) {
  Pair pair(own_loopback(1), own_loopback(2));
  const Gid third = own_loopback(3);
  ASSERT_TRUE(pair.right.open_address(third));
  for (int round = 0; round < 10; ++round) {
    Flow flow = pair.to_right;
    if (round % 2 == 0) flow.destination = third;
    while (!pair.right.receive().empty()) {
    }
    TxBatch batch(pair.left.batch_limits());
    append(batch, flow, send_only(7, 0), 4);
    pair.left.transmit(batch);
    EXPECT_EQ(pair.right.receive().size(), 1U) << "round " << round;
  }
}

TEST(UdpEngine, ReceiveWithNothingThereIsOneSystemCall) {
  UdpEngine engine{UdpConfig{}};
  ASSERT_TRUE(engine.open_address(own_loopback(1)));
  const uint64_t before = engine.counters().rx_syscalls;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(engine.receive().empty());
  EXPECT_EQ(engine.counters().rx_syscalls - before, 100U);
}

// Expect: with little room in the socket, long datagrams are not all read before any is answered.
TEST(UdpEngine, BurstsAreShortIfThereIsLittleRoom) {
  constexpr size_t kLong = 20000;
  UdpConfig config;
  config.segmentation = false;
  config.socket_buffer_bytes = 80000;  // of which Linux makes 160000
  Pair pair(own_loopback(1), own_loopback(2), config);
  const auto longest_burst = [&] {
    TxBatch batch(pair.left.batch_limits());
    for (uint32_t psn = 0; psn < 5; ++psn) append(batch, pair.to_right, send_only(7, psn), kLong);
    pair.left.transmit(batch);
    size_t received = 0;
    size_t longest = 0;
    while (const size_t burst = pair.right.receive().size()) {
      received += burst;
      longest = std::max(longest, burst);
    }
    EXPECT_EQ(received, 5U);
    return longest;
  };
  EXPECT_EQ(longest_burst(), 4U);  // how long they are is not known yet
  EXPECT_EQ(longest_burst(), 1U);
}

TEST(UdpEngine, AMessageThatCannotGoIsCountedAndTheOthersGo) {
  Pair pair(own_loopback(1), own_loopback(2));
  Flow nowhere = pair.to_right;
  nowhere.destination = ipv4(255, 255, 255, 255);
  Flow unclaimed = pair.to_right;
  unclaimed.source_port = 0xc001;
  TxBatch batch(pair.left.batch_limits());
  append(batch, pair.to_right, send_only(7, 0), 4);
  append(batch, nowhere, send_only(7, 1), 4);
  append(batch, unclaimed, send_only(7, 2), 4);
  append(batch, pair.to_right, send_only(7, 3), 4);
  pair.left.transmit(batch);
  const auto got = receive_packets(pair.right, 2);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].headers->bth.psn, Psn(3));
  const UdpCounters counters = pair.left.counters();
  EXPECT_EQ(counters.tx_no_socket, 1U);
  EXPECT_EQ(counters.tx_not_permitted + counters.tx_unreachable + counters.tx_failed, 1U);
}

TEST(UdpEngine, CarriesPayloadsThatLieElsewhere) {
  Pair pair(own_loopback(1), own_loopback(2));
  expect_carried(pair.left, pair.right, pair.to_right, 1, 4096);
  expect_carried(pair.left, pair.right, pair.to_right, 62, 4096);
  expect_carried(pair.left, pair.right, pair.to_right, 110, 2048);
  EXPECT_LT(pair.left.counters().tx_syscalls, 10U);
}

// As if the application had unmapped what it sends. Expect: what is not there is lost, and the rest
// arrives.
TEST(UdpEngine, APayloadThatHasGoneIsLost) {
  Pair pair(own_loopback(1), own_loopback(2));
  constexpr size_t kBytes = 4096;
  void* const page =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  TxBatch batch(pair.left.batch_limits());
  append(batch, pair.to_right, send_only(7, 0), 4096);
  ASSERT_TRUE(batch.append_whole(pair.to_right, send_only(0x40000, 1),  // another process's
                                 {static_cast<const uint8_t*>(page), kBytes}));
  append(batch, pair.to_right, send_only(7, 2), 4096);
  munmap(page, kBytes);
  EXPECT_EQ(pair.left.transmit(batch), 3U);
  const auto got = receive_packets(pair.right, 2);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].headers->bth.psn, Psn(2));
  EXPECT_EQ(pair.left.counters().tx_failed, 1U);
}

TEST(UdpEngine, SourcePortsAreClaimedSharedAndReleased) {
  const Gid self = own_loopback(1);
  UdpConfig config;
  config.max_source_ports = 2;
  UdpEngine engine(config);
  UdpEngine other(config);
  EXPECT_FALSE(engine.claim_source_port(self, kWanted)) << "the address is not open";
  ASSERT_TRUE(engine.open_address(self));
  ASSERT_TRUE(other.open_address(self));

  // A test that runs beside this one may have a port that is wanted here.
  const uint16_t first = engine.claim_source_port(self, kWanted).value();
  EXPECT_GE(first, 0xc000);
  EXPECT_EQ(engine.claim_source_port(self, first).value(), first);
  const uint16_t elsewhere = other.claim_source_port(self, first).value();
  EXPECT_NE(elsewhere, first) << "taken by the first engine";
  EXPECT_GE(elsewhere, 0xc000);

  const uint16_t second = engine.claim_source_port(self, 0xc777).value();
  EXPECT_NE(second, first);
  const uint16_t shared = engine.claim_source_port(self, 0xc888).value();
  EXPECT_TRUE(shared == first || shared == second) << "two sockets are all there may be";

  engine.release_source_port(self, shared);
  engine.release_source_port(self, second);
  engine.release_source_port(self, first);
  EXPECT_NE(find_socket(self, first), -1) << "one claim is left";
  engine.release_source_port(self, first);
  EXPECT_EQ(find_socket(self, first), -1);
}

TEST(UdpEngine, AFreePortIsGivenAsWanted) {
  const Gid self = own_loopback(1);
  UdpEngine engine{UdpConfig()};
  ASSERT_TRUE(engine.open_address(self));
  bool any = false;
  for (uint16_t wanted = 0xd000; wanted < 0xd010 && !any; ++wanted) {
    any = engine.claim_source_port(self, wanted).value() == wanted;
  }
  EXPECT_TRUE(any);
}

/// Whether a stranger, another user if this test is root's, can bind the port there. `mapped`: by a
/// socket of IPv6, also for an IPv4 address.
bool stranger_can_bind(const Gid& address, uint16_t port, int option, bool mapped = false) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    const bool ipv6 = mapped || !address.is_ipv4();
    const int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
    const int on = 1;
    if (option != 0) setsockopt(fd, SOL_SOCKET, option, &on, sizeof on);
    const SocketAddress to(address, port, 0);
    sockaddr_in6 as_ipv6{};
    as_ipv6.sin6_family = AF_INET6;
    as_ipv6.sin6_port = htons(port);
    std::memcpy(&as_ipv6.sin6_addr, address.bytes.data(), sizeof as_ipv6.sin6_addr);
    const int bound = ipv6 ? bind(fd, reinterpret_cast<const sockaddr*>(&as_ipv6), sizeof as_ipv6)
                           : bind(fd, to.get(), to.size());
    _exit(bound == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 2);
  return WEXITSTATUS(status) == 0;
}

bool host_has_ipv6() {
  UdpEngine engine{UdpConfig()};
  return engine.open_address(loopback_v6()).has_value();
}

// The defect: a stranger bound the port on another address of the host, and sent with the victim's
// (IP_PKTINFO, IPV6_PKTINFO). What tells a peer's packets from a stranger's is the port.
TEST(UdpEngine, NobodyElseHasASourcePortOnAnyAddress) {
  const bool ipv6 = host_has_ipv6();
  for (const Gid& self : {own_loopback(1), ipv6 ? loopback_v6() : own_loopback(3)}) {
    UdpEngine engine{UdpConfig()};
    ASSERT_TRUE(engine.open_address(self));
    const uint16_t port = engine.claim_source_port(self, kWanted).value();
    for (const Gid& address : {self, own_loopback(2), ipv4(0, 0, 0, 0), loopback_v6(), Gid()}) {
      for (const int option : {0, SO_REUSEADDR, SO_REUSEPORT}) {
        EXPECT_FALSE(stranger_can_bind(address, port, option)) << address.to_string();
        EXPECT_FALSE(stranger_can_bind(address, port, option, true)) << address.to_string();
      }
    }
    engine.release_source_port(self, port);
    // A test that runs beside this one may have taken the port, for a while.
    EXPECT_TRUE(eventually([&] { return stranger_can_bind(own_loopback(2), port, 0); }));
    if (!ipv6) continue;
    EXPECT_TRUE(eventually([&] { return stranger_can_bind(own_loopback(2), port, 0, true); }));
  }
}

// Expect: an engine sends from one port on all its addresses; other processes of the same user have
// other ports.
TEST(UdpEngine, AddressesOfAnEngineShareAPort) {
  UdpEngine engine{UdpConfig()};
  UdpEngine other{UdpConfig()};
  std::optional<uint16_t> port;
  for (const Gid& address :
       {own_loopback(1), own_loopback(2), host_has_ipv6() ? loopback_v6() : own_loopback(4)}) {
    ASSERT_TRUE(engine.open_address(address));
    const uint16_t claimed = engine.claim_source_port(address, port.value_or(kWanted)).value();
    EXPECT_EQ(claimed, port.value_or(claimed));
    port = claimed;
  }
  ASSERT_TRUE(other.open_address(own_loopback(3)));
  EXPECT_NE(other.claim_source_port(own_loopback(3), *port).value(), *port);
  engine.release_source_port(own_loopback(1), *port);
  EXPECT_NE(other.claim_source_port(own_loopback(3), *port).value(), *port) << "two need it still";
}

// The defect: if another process had the wanted port, each queue pair that wanted it got a socket
// of its own. Expect: all share the one that the first got instead.
TEST(UdpEngine, WhoeverWantsATakenPortSharesTheNextOne) {
  const Gid self = own_loopback(12);
  UdpEngine other{UdpConfig()};
  UdpEngine engine{UdpConfig()};
  ASSERT_TRUE(other.open_address(self));
  ASSERT_TRUE(engine.open_address(self));
  const uint16_t wanted = other.claim_source_port(self, kWanted).value();
  const auto first = engine.claim_source_port(self, wanted);
  const auto second = engine.claim_source_port(self, wanted);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, wanted);
  EXPECT_EQ(*first, *second);
  engine.release_source_port(self, *first);
  EXPECT_NE(find_socket(self, *second), -1) << "one claim is left";
}

TEST(UdpEngine, SaysWhoHasThePort) {
  const Gid self = own_loopback(9);
  const int taken = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(kRoceUdpPort);
  memcpy(&name.sin_addr, self.ipv4(), 4);
  ASSERT_EQ(bind(taken, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  UdpEngine engine{UdpConfig{}};
  const auto opened = engine.open_address(self);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, EADDRINUSE);
  EXPECT_NE(opened.error().what.find("UDP port 4791 on " + self.to_string()), std::string::npos);
  EXPECT_NE(opened.error().what.find("soft-RoCE"), std::string::npos);
  EXPECT_NE(opened.error().what.find("What to do"), std::string::npos);
  close(taken);
  EXPECT_TRUE(engine.open_address(self)) << "and works once it is free";
}

TEST(UdpEngine, SaysThatAnAddressIsNotThere) {
  UdpEngine engine{UdpConfig{}};
  const auto opened = engine.open_address(ipv4(192, 0, 2, 1));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, EADDRNOTAVAIL);
  EXPECT_NE(opened.error().what.find("192.0.2.1"), std::string::npos);
}

TEST(UdpEngine, WaitDescriptorIsReadableOnlyWhileSomethingWaits) {
  Pair pair(own_loopback(1), own_loopback(2));
  pollfd wait{pair.right.wait_fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  TxBatch batch(pair.left.batch_limits());
  append(batch, pair.to_right, send_only(7, 0), 4);
  pair.left.transmit(batch);
  EXPECT_EQ(poll(&wait, 1, 10000), 1);
  receive_packets(pair.right, 1);
  EXPECT_EQ(poll(&wait, 1, 0), 0);
}

}  // namespace
}  // namespace urxe::test::udp_test
