// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/firewall.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tools/doctor/child.h"
#include "tools/program_file.h"

namespace urxe::doctor {
namespace {

constexpr const char* kFirewallCheck = "firewall";
constexpr Duration kPatience = seconds(5);
/// Ordinary users do not have this directory in PATH.
constexpr const char* kUsualPath = "/usr/sbin/nft";
/// In front, since the last rule may drop all that comes to it.
constexpr const char* kAllow = "nft insert rule CHAIN udp dport 4791 accept";

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

bool has_old_tables() {
  std::ifstream tables("/proc/net/ip_tables_names");
  std::string line;
  return static_cast<bool>(std::getline(tables, line));
}

std::string why_not(const ChildResult& nft) {
  if (nft.start_error == ENOENT) return "nft is not installed";
  if (nft.start_error != 0) return std::strerror(nft.start_error);
  if (nft.timed_out) return "nft does not end";
  return first_line(nft.err);
}

/// Behind every finding: what it does not cover.
std::string not_read(const FirewallFacts& facts) {
  return facts.has_old_tables ? "; there are tables of iptables-legacy, which were not read" : "";
}

}  // namespace

FirewallFacts read_firewall() {
  FirewallFacts facts;
  facts.has_old_tables = has_old_tables();
  const bool is_in_path = resolve_program("nft") != "nft";
  const ChildResult nft =
      run_child({is_in_path ? "nft" : kUsualPath, "-j", "list", "ruleset"}, kPatience);
  if (nft.succeeded()) {
    facts.ruleset = nft.out;
  } else {
    facts.lack = why_not(nft);
  }
  return facts;
}

Finding judge_firewall(const FirewallFacts& facts) {
  const RulesetVerdict verdict =
      facts.lack.empty() ? judge_ruleset(facts.ruleset) : RulesetVerdict{};
  if (!verdict.is_readable) {
    return note(kFirewallCheck,
                fmt::format("nftables' rules were not read ({}), so nothing is known about packets "
                            "of other hosts{}",
                            facts.lack.empty() ? "nft's output is not understood" : facts.lack,
                            not_read(facts)),
                "as root: nft list ruleset");
  }
  if (!verdict.dropping.empty()) {
    return problem(kFirewallCheck,
                   fmt::format("a rule drops packets to UDP port 4791, in chain {}{}",
                               fmt::join(verdict.dropping, ", "), not_read(facts)),
                   "remove the rule, or put another before it: nft insert rule CHAIN udp dport "
                   "4791 accept");
  }
  if (!verdict.closed.empty()) {
    return note(kFirewallCheck,
                fmt::format("chain {} drops what no rule accepts, and none accepts UDP port 4791{}",
                            fmt::join(verdict.closed, ", "), not_read(facts)),
                kAllow);
  }
  return ok(kFirewallCheck, "no rule of nftables on this host drops all packets to UDP port 4791" +
                                not_read(facts));
}

}  // namespace urxe::doctor
