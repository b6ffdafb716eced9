// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// What nftables' rules do to UDP port 4791: those of chains with a hook, and of chains that these
/// jump to. Conditions of a rule that names the port are not weighed.
struct RulesetVerdict {
  bool is_readable = false;           ///< the text is a rule set
  std::vector<std::string> dropping;  ///< chains with a rule that drops or rejects the port
  /// Chains that drop or reject all packets of input or output, or all of UDP, by their policy or
  /// by a rule without further conditions, while no rule before it accepts the port.
  std::vector<std::string> closed;
};

/// `json`: the output of `nft -j list ruleset`.
RulesetVerdict judge_ruleset(const std::string& json);

/// What could be read of the firewall.
struct FirewallFacts {
  std::string lack;             ///< why nftables' rules cannot be read; empty: they can
  std::string ruleset;          ///< as JSON
  bool has_old_tables = false;  ///< of iptables-legacy, which are not read
};

/// Runs nft, if it is there, for some seconds at most.
FirewallFacts read_firewall();

Finding judge_firewall(const FirewallFacts& facts);

}  // namespace urxe::doctor
