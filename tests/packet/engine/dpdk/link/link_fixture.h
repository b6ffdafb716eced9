// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "packet/engine/dpdk/link/link_services.h"

namespace urxe::test {

inline constexpr MacAddress kOurMac = {2, 0, 0, 0, 0, 1};
inline constexpr MacAddress kPeerMac = {2, 0, 0, 0, 0, 2};

inline Gid address(const char* text) {
  return *parse_ip_address(text);
}

inline std::span<const uint8_t> bytes(const ControlFrame& frame) {
  return {frame.bytes.data(), frame.size};
}

inline MacAddress destination_of(const ControlFrame& frame) {
  MacAddress mac;
  std::copy_n(frame.bytes.begin(), mac.size(), mac.begin());
  return mac;
}

inline std::optional<NeighbourMessage> neighbour_message(const ControlFrame& frame) {
  const auto message = parse_icmpv6(bytes(frame));
  return message ? parse_neighbour_message(*message) : std::nullopt;
}

/// A host with 10.0.0.1/24, fd00::1/64, and gateways, and what it sends.
class LinkTest : public testing::Test {
 protected:
  explicit LinkTest(bool answers = true)
      : link_({kOurMac,
               {*parse_ip_network("10.0.0.1/24"), *parse_ip_network("fd00::1/64")},
               {address("10.0.0.254"), address("fd00::ff")},
               answers},
              {1, 2}) {}

  std::vector<ControlFrame> sent() {
    std::vector<ControlFrame> frames;
    while (auto frame = link_.take_frame()) frames.push_back(*frame);
    return frames;
  }
  /// Time passes as the engine lets it.
  void pass(Duration time) {
    for (const Instant end = now_ + time; now_ < end;) {
      now_ = now_ + milliseconds(50);
      link_.advance(now_);
    }
  }
  void expect_kind(const char* to, NextHop::Kind kind) {
    EXPECT_EQ(link_.resolve(address(to), now_).kind, kind) << to;
  }
  void answer_arp(const char* who, const MacAddress& mac = kPeerMac) {
    const ArpPacket reply{false, mac, address(who), kOurMac, address("10.0.0.1")};
    link_.handle(bytes(make_arp(reply, kOurMac)), now_);
  }

  Instant now_{1000000000};
  LinkServices link_;
};

}  // namespace urxe::test
