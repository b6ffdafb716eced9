// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/cluster/plan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace urxe::sim {
namespace {

constexpr std::array<std::pair<std::string_view, Pattern>, 3> kPatterns = {{
    {"incast", Pattern::kIncast},
    {"permutation", Pattern::kPermutation},
    {"all-to-all", Pattern::kAllToAll},
}};
constexpr uint32_t kMostHosts = 4096;
/// A host's queue pairs must have different indices (qpn_layout.h).
constexpr uint32_t kMostPeers = 8192;
constexpr uint32_t kMostBytes = 1U << 30;

}  // namespace

uint32_t ClusterPlan::peers_of_a_host() const {
  return std::min(peers, hosts - 1);
}

const Pattern* find_pattern(std::string_view name) {
  const auto* found = std::ranges::find(kPatterns, name, &decltype(kPatterns)::value_type::first);
  return found == kPatterns.end() ? nullptr : &found->second;
}

const char* pattern_name(Pattern pattern) {
  const auto* found =
      std::ranges::find(kPatterns, pattern, &decltype(kPatterns)::value_type::second);
  return found->first.data();
}

std::string plan_error(const ClusterPlan& plan) {
  if (plan.hosts < 2 || plan.hosts > kMostHosts) return "--hosts: 2 to 4096";
  if (plan.pattern == Pattern::kAllToAll &&
      (plan.peers == 0 || plan.peers_of_a_host() > kMostPeers))
    return "--peers: 1 to 8192";
  if (plan.message_bytes == 0 || plan.message_bytes > kMostBytes) return "--bytes: 1 to 2^30";
  if (plan.messages == 0 || plan.depth == 0) return "--messages, --depth: at least 1";
  if (plan.bits_per_second == 0) return "--rate: at least 1 bit a second";
  if (plan.port_bytes < 2 * uint64_t{plan.path_mtu}) return "--port: at least two packets";
  if (plan.loss_per_million > 500'000) return "--loss: at most half";
  return {};
}

}  // namespace urxe::sim
