// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "packet/wire/types.h"
#include "tools/doctor/firewall.h"

namespace urxe::doctor {
namespace {

using Json = nlohmann::json;

/// A member of an object; null for anything else.
const Json& member(const Json& object, const char* name) {
  static const Json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found != object.end() ? *found : nothing;
}

std::string text_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

/// A number, {"range": [a, b]}, {"set": [...]}, or a list of them. A named set ("@name") is not
/// looked into.
bool names_port(const Json& value) {
  if (value.is_number_integer()) return value == kRoceUdpPort;
  if (value.is_array()) return std::ranges::any_of(value, names_port);
  const Json& range = member(value, "range");
  if (range.is_array() && range.size() == 2 && range[0].is_number() && range[1].is_number()) {
    return range[0] <= kRoceUdpPort && range[1] >= kRoceUdpPort;
  }
  const Json& set = member(value, "set");
  return !set.is_null() && names_port(set);
}

/// Whether it is "udp dport 4791", or the same with a range or set.
bool matches_port(const Json& statement) {
  const Json& match = member(statement, "match");
  const Json& payload = member(member(match, "left"), "payload");
  const std::string protocol = text_of(payload, "protocol");
  const std::string operation = text_of(match, "op");
  return (protocol == "udp" || protocol == "th") && text_of(payload, "field") == "dport" &&
         (operation == "==" || operation == "in") && names_port(member(match, "right"));
}

bool has(const Json& statement, const char* verdict) {
  return statement.is_object() && statement.contains(verdict);
}

/// A chain as far as its rules have been read.
struct Chain {
  std::string hook;    ///< "input"; empty: others jump to it
  std::string policy;  ///< "drop"
  bool accepts = false;
  bool drops = false;

  void add(const Json& statements) {
    if (!statements.is_array() || accepts || !std::ranges::any_of(statements, matches_port)) return;
    // The rule that comes first decides.
    for (const Json& statement : statements) {
      if (has(statement, "accept") && !drops) accepts = true;
      if (has(statement, "drop") || has(statement, "reject")) drops = true;
    }
  }
  /// Whether what it drops may be this host's own; chains that others jump to count.
  [[nodiscard]] bool is_in_the_way() const { return drops && hook != "forward"; }
  [[nodiscard]] bool is_closed() const {
    return (hook == "input" || hook == "output") && policy == "drop" && !accepts && !drops;
  }
};

}  // namespace

RulesetVerdict judge_ruleset(const std::string& json) {
  RulesetVerdict verdict;
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json& entries = member(parsed, "nftables");
  verdict.is_readable = entries.is_array();
  std::map<std::string, Chain> chains;
  for (const Json& entry : entries) {
    const Json& chain = member(entry, "chain");
    const Json& rule = member(entry, "rule");
    const Json& either = chain.is_null() ? rule : chain;
    const std::string table = text_of(either, "family") + " " + text_of(either, "table") + " ";
    if (!chain.is_null()) {
      chains[table + text_of(chain, "name")] = {text_of(chain, "hook"), text_of(chain, "policy")};
    } else if (!rule.is_null()) {
      chains[table + text_of(rule, "chain")].add(member(rule, "expr"));
    }
  }
  for (const auto& [name, chain] : chains) {
    if (chain.is_in_the_way()) verdict.dropping.push_back(name);
    if (chain.is_closed()) verdict.closed.push_back(name);
  }
  return verdict;
}

}  // namespace urxe::doctor
