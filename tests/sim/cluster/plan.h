// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "packet/base/time.h"

namespace urxe::sim {

/// Who sends to whom.
enum class Pattern : uint8_t {
  kIncast,       ///< all others to the first host
  kPermutation,  ///< each host to one other, each receives from one
  kAllToAll,     ///< each host to the `peers` that follow it
};

/// A cluster: hosts, each with one link to one switch, and what they send.
struct ClusterPlan {
  uint64_t seed = 1;
  uint32_t hosts = 8;
  Pattern pattern = Pattern::kIncast;
  uint32_t peers = UINT32_MAX;  ///< all-to-all: at most hosts - 1

  uint32_t message_bytes = 1 << 20;
  uint32_t messages = 16;  ///< of each sender to each of its receivers
  uint32_t depth = 4;      ///< messages posted at once
  bool reads = false;      ///< the receiver READs instead
  uint32_t path_mtu = 4096;

  uint64_t bits_per_second = 10'000'000'000;  ///< of every link, in each direction
  Duration delay = microseconds(2);           ///< of a link
  uint64_t port_bytes = 512 * 1024;           ///< that wait at a port of the switch, at most
  uint64_t mark_bytes = UINT64_MAX;           ///< packets that find more waiting are marked (ECN)
  uint32_t loss_per_million = 0;              ///< packets that a link loses, whatever waits
  bool keeps_requests = true;  ///< responders keep what comes behind a gap (DeviceConfig)

  [[nodiscard]] uint32_t peers_of_a_host() const;
};

/// nullptr: no pattern has the name.
const Pattern* find_pattern(std::string_view name);
const char* pattern_name(Pattern pattern);
/// Why the plan cannot be run; empty if it can.
std::string plan_error(const ClusterPlan& plan);

}  // namespace urxe::sim
