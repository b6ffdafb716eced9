// SPDX-License-Identifier: BSD-2-Clause
// The 40 bytes before a datagram's payload in the receive buffer: for RoCEv2 the packet's IP
// header, an IPv4 one in the last 20 bytes (InfiniBand Architecture Specification, annex A17).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>

namespace ud_verify {

inline constexpr uint32_t kGrhBytes = 40;

struct ExpectedGrh {
  ibv_gid source;
  ibv_gid destination;
  uint32_t payload = 0;  // Bytes of the message, without padding and immediate data.
  bool immediate = false;
  uint8_t hop_limit = 0;      // As sent: routers may have lowered it.
  uint8_t traffic_class = 0;  // The two ECN bits may have changed on the way.
};

bool is_ipv4(const ibv_gid& gid);

// What is wrong with the header; empty where nothing is. Bytes before an IPv4 header and an IPv6
// flow label may be anything.
std::string grh_difference(std::span<const uint8_t, kGrhBytes> grh, const ExpectedGrh& expected);

}  // namespace ud_verify
