// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ports/port_claim.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <thread>
#include <vector>

#include "provider/cm/ports/ephemeral_ports.h"
#include "provider/cm/ports/port_use.h"
#include "tests/packet/sharing/child_process.h"

namespace urxe::cm {
namespace {

using test::ChildProcess;
using Claim = std::shared_ptr<PortClaim>;

/// Of nobody else: other tests may run beside these.
constexpr PortSpace kSpace = PortSpace::kIpoib;
uint16_t own_port(int n = 0) {
  return static_cast<uint16_t>(1000 + getpid() % 10000 + n * 10000);
}

Address ip(const char* text, uint16_t port, uint32_t scope_id = 0) {
  uint8_t bytes[16] = {};
  if (inet_pton(AF_INET, text, bytes) == 1) {
    const Gid gid = Gid::from_ipv4(bytes);
    return make_address(AF_INET, bytes[0] == 0 ? Gid{} : gid, port);
  }
  inet_pton(AF_INET6, text, bytes);
  return make_address(AF_INET6, Gid::from_ipv6(bytes), port, scope_id);
}

PortClaim::Request request(const char* address, uint16_t port, bool reuse = false,
                           bool af_only = false, uint32_t scope_id = 0) {
  return {kSpace, ip(address, port, scope_id), reuse, af_only};
}

Claim must_claim(const PortClaim::Request& what) {
  auto claim = PortClaim::claim(what);
  EXPECT_TRUE(claim) << to_string(what.address) << ": " << claim.error().value;
  return claim ? *claim : nullptr;
}

int error_of_claim(const PortClaim::Request& what) {
  const auto claim = PortClaim::claim(what);
  return claim ? 0 : claim.error().value;
}

size_t open_descriptors() {
  DIR* const directory = opendir("/proc/self/fd");
  size_t count = 0;
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

/// A child that has made the claim; what that came to.
struct Claimer {
  explicit Claimer(const PortClaim::Request& what, bool listens = false)
      : process([=](int pipe) {
          const auto claim = PortClaim::claim(what);
          int outcome = claim ? 0 : claim.error().value;
          if (outcome == 0 && listens) {
            const auto listening = (*claim)->listen();
            outcome = listening ? 0 : listening.error().value;
          }
          test::write_record(pipe, outcome);
          for (;;) pause();
        }),
        result(process.read<int>().value_or(-1)) {}
  ChildProcess process;
  int result;
};

TEST(PortClaims, OneAddressHasAPortOnce) {
  auto claim = must_claim(request("192.0.2.1", own_port()));
  EXPECT_EQ(claim->port(), own_port());
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port())), EADDRINUSE);
  EXPECT_EQ(error_of_claim(request("192.0.2.2", own_port())), 0);
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port(1))), 0);
  claim.reset();
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port())), 0) << "given back";
}

TEST(PortClaims, PortSpacesDoNotMeet) {
  const auto claim = must_claim(request("192.0.2.1", own_port()));
  auto other = request("192.0.2.1", own_port());
  other.space = PortSpace::kIb;
  EXPECT_EQ(error_of_claim(other), 0);
}

TEST(PortClaims, AllAddressesAndOneAreInEachOthersWay) {
  struct Case {
    const char* first;
    const char* second;
    bool first_only, second_only;
    int expected;
  };
  for (const Case& c : {Case{"0.0.0.0", "0.0.0.0", false, false, EADDRINUSE},
                        Case{"0.0.0.0", "192.0.2.1", false, false, EADDRINUSE},
                        Case{"192.0.2.1", "0.0.0.0", false, false, EADDRINUSE},
                        Case{"::", "2001:db8::1", false, false, EADDRINUSE},
                        Case{"2001:db8::1", "::", false, false, EADDRINUSE},
                        Case{"::", "192.0.2.1", false, false, EADDRINUSE},
                        Case{"192.0.2.1", "::", false, false, EADDRINUSE},
                        Case{"::", "0.0.0.0", false, false, EADDRINUSE},
                        Case{"0.0.0.0", "::", false, false, EADDRINUSE},
                        Case{"::", "::", true, false, EADDRINUSE},
                        Case{"::", "::", false, true, EADDRINUSE},
                        Case{"::", "2001:db8::1", true, false, EADDRINUSE},
                        Case{"2001:db8::1", "::", false, true, EADDRINUSE},
                        Case{"::", "0.0.0.0", true, false, 0},
                        Case{"0.0.0.0", "::", false, true, 0},
                        Case{"::", "192.0.2.1", true, false, 0},
                        Case{"192.0.2.1", "::", false, true, 0},
                        Case{"0.0.0.0", "2001:db8::1", false, false, 0},
                        Case{"2001:db8::1", "0.0.0.0", false, false, 0},
                        Case{"192.0.2.1", "2001:db8::1", false, false, 0},
                        Case{"::ffff:192.0.2.1", "192.0.2.1", false, false, EADDRINUSE}}) {
    SCOPED_TRACE(std::string(c.first) + " then " + c.second);
    const auto claim = must_claim(request(c.first, own_port(), false, c.first_only));
    EXPECT_EQ(error_of_claim(request(c.second, own_port(), false, c.second_only)), c.expected);
    const Claimer elsewhere(request(c.second, own_port(), false, c.second_only));
    EXPECT_EQ(elsewhere.result, c.expected) << "in another process";
  }
}

TEST(PortClaims, LinkLocalAddressesAreOfOneInterface) {
  const auto claim = must_claim(request("fe80::1", own_port(), false, false, 2));
  EXPECT_EQ(error_of_claim(request("fe80::1", own_port(), false, false, 2)), EADDRINUSE);
  EXPECT_EQ(error_of_claim(request("fe80::1", own_port(), false, false, 3)), 0);
}

TEST(PortClaims, IbAddressesAreTheIpAddressesTheyAre) {
  const auto claim = must_claim(request("192.0.2.1", own_port()));
  const Gid gid = ip("192.0.2.1", 0).gid();
  EXPECT_EQ(error_of_claim({kSpace, make_address(kAfIb, gid, own_port())}), EADDRINUSE);
  EXPECT_EQ(error_of_claim({kSpace, make_address(kAfIb, Gid{}, own_port())}), EADDRINUSE);
}

TEST(PortClaims, ReuseNeedsBoth) {
  const auto first = must_claim(request("192.0.2.1", own_port(), true));
  const auto second = must_claim(request("192.0.2.1", own_port(), true));
  const auto all = must_claim(request("0.0.0.0", own_port(), true));
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port(), false)), EADDRINUSE);
  const Claimer elsewhere(request("192.0.2.1", own_port(), true));
  EXPECT_EQ(elsewhere.result, 0);
  const Claimer alone(request("192.0.2.1", own_port(), false));
  EXPECT_EQ(alone.result, EADDRINUSE);
}

TEST(PortClaims, OneThatDoesNotShareKeepsThoseOutThatWould) {
  const auto claim = must_claim(request("192.0.2.1", own_port(), false));
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port(), true)), EADDRINUSE);
  EXPECT_EQ(error_of_claim(request("0.0.0.0", own_port(), true)), EADDRINUSE);
}

TEST(PortClaims, AListenerIsAlone) {
  auto first = must_claim(request("192.0.2.1", own_port(), true));
  auto second = must_claim(request("192.0.2.1", own_port(), true));
  ASSERT_FALSE(first->listen());
  EXPECT_EQ(first->listen().error().value, EADDRINUSE);
  second.reset();
  EXPECT_TRUE(first->listen());
  EXPECT_TRUE(first->listen()) << "again";
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port(), true)), EADDRINUSE);
  EXPECT_EQ(error_of_claim(request("192.0.2.2", own_port(), true)), 0);
  first.reset();
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port(), true)), 0);
}

TEST(PortClaims, AListenerThatDoesNotShareHasThePortAnyway) {
  const auto claim = must_claim(request("0.0.0.0", own_port()));
  EXPECT_TRUE(claim->listen());
}

TEST(PortClaims, AKilledProcessesPortIsFreeAtOnce) {
  Claimer holder(request("0.0.0.0", own_port()), true);
  ASSERT_EQ(holder.result, 0);
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port())), EADDRINUSE);
  holder.process.kill();
  EXPECT_EQ(error_of_claim(request("192.0.2.1", own_port())), 0);
}

TEST(PortClaims, AForkedChildDoesNotKeepThem) {
  auto claim = must_claim(request("0.0.0.0", own_port()));
  const ChildProcess child([&](int pipe) {
    const auto listening = claim->listen();
    test::write_record(pipe, listening ? 0 : listening.error().value);
    for (;;) pause();
  });
  EXPECT_EQ(child.read<int>(), EINVAL) << "it is not the child's";
  EXPECT_EQ(error_of_claim(request("0.0.0.0", own_port())), EADDRINUSE) << "but still ours";
  claim.reset();
  EXPECT_EQ(error_of_claim(request("0.0.0.0", own_port())), 0);
}

/// Two children claim at the same time. Expect: of those that want the same, exactly one has it.
void race(const PortClaim::Request& one, const PortClaim::Request& other) {
  for (int round = 0; round < 50; ++round) {
    int go[2];
    ASSERT_EQ(pipe(go), 0);
    const auto claim_when_told = [&](const PortClaim::Request& what) {
      return [&, what](int pipe) {
        close(go[1]);
        pollfd told{go[0], POLLIN, 0};
        poll(&told, 1, -1);
        const auto claim = PortClaim::claim(what);
        test::write_record(pipe, claim ? 0 : claim.error().value);
        for (;;) pause();
      };
    };
    const ChildProcess first(claim_when_told(one));
    const ChildProcess second(claim_when_told(other));
    close(go[1]);
    const std::set<int> results{first.read<int>().value_or(-1), second.read<int>().value_or(-1)};
    close(go[0]);
    ASSERT_EQ(results, (std::set{0, EADDRINUSE})) << "round " << round;
  }
}

TEST(PortClaims, ARaceForOneAddressHasOneWinner) {
  race(request("192.0.2.1", own_port()), request("192.0.2.1", own_port()));
}

TEST(PortClaims, ARaceOfAllAddressesAgainstOneHasOneWinner) {
  race(request("::", own_port()), request("192.0.2.1", own_port(), true));
}

TEST(PortClaims, ThreadsRaceToo) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    std::vector<Claim> claims(4);
    for (Claim& claim : claims) {
      threads.emplace_back([&claim] {
        if (auto got = PortClaim::claim(request("0.0.0.0", own_port()))) claim = *got;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::count(claims.begin(), claims.end(), nullptr), 3);
  }
}

TEST(PortClaims, PortZeroIsAFreeOneOfTheEphemeralRange) {
  std::vector<Claim> claims;
  std::set<uint16_t> ports;
  for (int i = 0; i < 50; ++i) {
    claims.push_back(must_claim(request(i % 2 == 0 ? "0.0.0.0" : "192.0.2.1", 0)));
    ports.insert(claims.back()->port());
  }
  EXPECT_EQ(ports.size(), claims.size());
  EXPECT_GE(*ports.begin(), ephemeral_range().first);
  EXPECT_LE(*ports.rbegin(), ephemeral_range().last);
}

TEST(EphemeralPorts, AreManyWithoutADescriptorEach) {
  size_t before = 0;
  std::vector<Claim> claims;
  std::set<uint16_t> ports;
  for (int i = 0; i < 20000; ++i) {
    auto claim = PortClaim::take_ephemeral(kSpace);
    ASSERT_TRUE(claim) << i;
    claims.push_back(*claim);
    ports.insert(claims.back()->port());
    if (i == 0) before = open_descriptors();
  }
  EXPECT_EQ(ports.size(), claims.size()) << "each another";
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(claims.front()->listen().error().value, EINVAL);
}

TEST(EphemeralPorts, RunOutAndComeBack) {
  std::vector<Claim> claims;
  for (;;) {
    auto claim = PortClaim::take_ephemeral(kSpace);
    if (!claim) {
      EXPECT_EQ(claim.error().value, EADDRNOTAVAIL);
      break;
    }
    ASSERT_LE(claims.size(), ephemeral_range().size());
    claims.push_back(*claim);
  }
  EXPECT_EQ(error_of_claim(request("0.0.0.0", 0)), EADDRINUSE) << "nor is one left to bind to";
  const uint16_t last = claims.back()->port();
  claims.pop_back();
  const auto again = PortClaim::take_ephemeral(kSpace);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->port(), last);
}

TEST(EphemeralPorts, KeepClearOfClaims) {
  std::vector<Claim> ours;
  for (int i = 0; i < 20; ++i) ours.push_back(must_claim(request("192.0.2.1", 0)));
  const Claimer theirs(request("0.0.0.0", ephemeral_range().last));
  ASSERT_EQ(theirs.result, 0);
  std::vector<Claim> taken;
  std::set<uint16_t> ports;
  while (auto claim = PortClaim::take_ephemeral(kSpace)) {
    taken.push_back(*claim);
    ports.insert(taken.back()->port());
  }
  for (const Claim& claim : ours) EXPECT_FALSE(ports.contains(claim->port()));
  EXPECT_FALSE(ports.contains(ephemeral_range().last));
}

TEST(PortClaims, AreManyWithoutADescriptorEach) {
  const auto first = must_claim(request("192.0.2.1", own_port()));
  const size_t before = open_descriptors();
  std::vector<Claim> claims;
  std::set<uint16_t> ports;
  for (int i = 0; i < 10000; ++i) {
    claims.push_back(must_claim(request(i % 2 == 0 ? "0.0.0.0" : "192.0.2.1", 0, i % 3 == 0)));
    ASSERT_NE(claims.back(), nullptr) << i;
    ASSERT_TRUE(claims.back()->listen());
    ports.insert(claims.back()->port());
  }
  EXPECT_EQ(ports.size(), claims.size()) << "each another";
  EXPECT_EQ(open_descriptors(), before);
  const auto again = request("192.0.2.1", claims[5000]->port());
  EXPECT_EQ(error_of_claim(again), EADDRINUSE);
  EXPECT_EQ(Claimer(again).result, EADDRINUSE);
}

TEST(PortUses, SurviveTheTable) {
  for (const PortUse& use :
       {PortUse::of(ip("192.0.2.1", 7), true, false),
        PortUse::of(ip("2001:db8::1", 7), false, true),
        PortUse::of(ip("fe80::1", 7, 0x80000002), false, false),
        PortUse::of(ip("0.0.0.0", 7), true, true), PortUse::of(ip("::", 7), false, false),
        PortUse::of(ip("::", 7), true, true)}) {
    EXPECT_EQ(from_words(to_words(use)), use);
  }
}

}  // namespace
}  // namespace urxe::cm
