// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "packet/wire/types.h"
#include "tools/doctor/firewall.h"

namespace urxe::doctor {
namespace {

using Json = nlohmann::json;
constexpr int kUdp = 17;

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

bool names_udp(const Json& value) {
  if (value.is_string()) return value == "udp";
  if (value.is_number_integer()) return value == kUdp;
  if (value.is_array()) return std::ranges::any_of(value, names_udp);
  const Json& set = member(value, "set");
  return !set.is_null() && names_udp(set);
}

bool names_a_set(const Json& value) {
  return value.is_string() && value.get_ref<const std::string&>().starts_with('@');
}

/// Whether the condition is true of values that `names` finds on its right side. A named set, and
/// what is no number or text, nobody knows.
template <class Names>
bool is_met(const Json& match, Names names) {
  const std::string operation = text_of(match, "op");
  const Json& right = member(match, "right");
  if (operation == "==" || operation == "in") return names(right);
  return operation == "!=" && !right.is_null() && !names_a_set(right) && !names(right);
}

/// Whether it is "udp dport", or the same of any transport.
bool is_port(const Json& value) {
  const Json& payload = member(value, "payload");
  const std::string protocol = text_of(payload, "protocol");
  return (protocol == "udp" || protocol == "th") && text_of(payload, "field") == "dport";
}

/// Whether it is "udp dport 4791", or the same with a range or set, or "udp dport != 22".
bool matches_port(const Json& statement) {
  const Json& match = member(statement, "match");
  return is_port(member(match, "left")) && is_met(match, names_port);
}

/// Whether it is "meta l4proto", or the same of the IP header.
bool is_protocol(const Json& value) {
  const Json& payload = member(value, "payload");
  const std::string field = text_of(payload, "field");
  return text_of(member(value, "meta"), "key") == "l4proto" ||
         (text_of(payload, "protocol") == "ip" && field == "protocol") ||
         (text_of(payload, "protocol") == "ip6" && field == "nexthdr");
}

/// Whether it is "meta l4proto udp" or the like.
bool matches_udp(const Json& statement) {
  const Json& match = member(statement, "match");
  return is_protocol(member(match, "left")) && is_met(match, names_udp);
}

/// Whether it is "meta l4proto tcp" or the like.
bool leaves_out_udp(const Json& statement) {
  const Json& match = member(statement, "match");
  return is_protocol(member(match, "left")) && !names_a_set(member(match, "right")) &&
         !is_met(match, names_udp);
}

bool has(const Json& statement, const char* verdict) {
  return statement.is_object() && statement.contains(verdict);
}

/// Whether the statement lets every packet to the port pass on to the next one.
bool passes_port(const Json& statement) {
  constexpr std::array kUnconditional{"counter", "log",    "notrack", "mangle", "accept",
                                      "drop",    "reject", "return",  "jump",   "goto"};
  return matches_port(statement) || matches_udp(statement) ||
         std::ranges::any_of(kUnconditional,
                             [&](const char* name) { return has(statement, name); });
}

/// What rules do to packets to the port.
struct Fate {
  enum class Kind : uint8_t {
    kNone,  ///< the chain ends without a verdict
    kAccepted,
    kDropped,  ///< by a rule that names the port
    kClosed,   ///< by a rule for all packets, or all of UDP
  };
  Kind kind = Kind::kNone;
  std::string chain;  ///< which has the rule
};
using Kind = Fate::Kind;

struct Chain {
  std::string hook;    ///< "input"; empty: others jump to it
  std::string policy;  ///< "drop"
  std::vector<const Json*> rules;
  bool is_visited = false;  ///< then `fate` is known, or being looked for
  Fate fate;

  /// Whether this host's own packets come through it.
  [[nodiscard]] bool is_base() const { return !hook.empty() && hook != "forward"; }
  [[nodiscard]] bool closes() const { return hook == "input" || hook == "output"; }
};

/// Whether packets to the port leave a chain without a verdict.
struct Leaving {
  bool all = false;   ///< no rule of the chain behind it counts
  bool some = false;  ///< a rule behind it for all packets is not for all
};

class Ruleset {
 public:
  explicit Ruleset(const Json& entries) {
    for (const Json& entry : entries) add(entry);
  }

  RulesetVerdict judge();

 private:
  void add(const Json& entry);
  const Fate& fate_in(const std::string& name);
  Fate look_through(const std::string& name, const Chain& chain);
  Fate apply(const std::string& name, const Json& rule, Leaving& leaving);
  Fate follow_jumps(const std::string& table, const Json& statement);
  const Json& elements_of(const std::string& table, const Json& data) const;
  const Json& find_verdict(const std::string& table, const Json& map) const;

  std::map<std::string, Chain> chains_;      ///< by "family table name"
  std::map<std::string, const Json*> maps_;  ///< verdict maps, by the same
};

std::string table_of(const Json& object) {
  return text_of(object, "family") + " " + text_of(object, "table") + " ";
}

void Ruleset::add(const Json& entry) {
  const Json& chain = member(entry, "chain");
  const Json& rule = member(entry, "rule");
  const Json& map = member(entry, "map");
  if (!chain.is_null()) {
    Chain& added = chains_[table_of(chain) + text_of(chain, "name")];
    added.hook = text_of(chain, "hook");
    added.policy = text_of(chain, "policy");
  } else if (!rule.is_null()) {
    chains_[table_of(rule) + text_of(rule, "chain")].rules.push_back(&member(rule, "expr"));
  } else if (!map.is_null()) {
    maps_[table_of(map) + text_of(map, "name")] = &member(map, "elem");
  }
}

/// The pairs of a verdict map, which is named or in place.
const Json& Ruleset::elements_of(const std::string& table, const Json& data) const {
  static const Json nothing;
  if (!names_a_set(data)) return member(data, "set");
  const auto map = maps_.find(table + data.get<std::string>().substr(1));
  return map != maps_.end() ? *map->second : nothing;
}

/// What "udp dport vmap" says of the port; null: nothing.
const Json& Ruleset::find_verdict(const std::string& table, const Json& map) const {
  static const Json nothing;
  for (const Json& pair : elements_of(table, member(map, "data"))) {
    if (pair.is_array() && pair.size() == 2 && names_port(pair[0])) return pair[1];
  }
  return nothing;
}

/// The verdict of the chains that the statement, or a map in it, jumps to: the first one that names
/// the port. Conditions are not weighed.
Fate Ruleset::follow_jumps(const std::string& table, const Json& statement) {
  if (names_a_set(statement)) return follow_jumps(table, elements_of(table, statement));
  if (!statement.is_structured()) return {};
  for (const char* const verdict : {"jump", "goto"}) {
    const std::string target = text_of(member(statement, verdict), "target");
    if (!target.empty()) return fate_in(table + target);
  }
  Fate closed;
  for (const Json& part : statement) {
    Fate fate = follow_jumps(table, part);
    if (fate.kind == Kind::kAccepted || fate.kind == Kind::kDropped) return fate;
    if (fate.kind == Kind::kClosed) closed = std::move(fate);
  }
  return closed;
}

Fate Ruleset::apply(const std::string& name, const Json& rule, Leaving& leaving) {
  if (std::ranges::any_of(rule, leaves_out_udp)) return {};
  const std::string table = name.substr(0, name.rfind(' ') + 1);
  const auto maps_port = [](const Json& statement) {
    return is_port(member(member(statement, "vmap"), "key"));
  };
  const bool names_it =
      std::ranges::any_of(rule, matches_port) || std::ranges::any_of(rule, maps_port);
  const bool is_for_all = std::ranges::all_of(rule, passes_port);
  for (const Json& given : rule) {
    const Json& statement = maps_port(given) ? find_verdict(table, member(given, "vmap")) : given;
    if (names_it || is_for_all) {
      if (has(statement, "accept")) return {Kind::kAccepted, name};
      if (has(statement, "drop") || has(statement, "reject")) {
        return {names_it ? Kind::kDropped : Kind::kClosed, name};
      }
    }
    if (has(statement, "return")) (names_it || is_for_all ? leaving.all : leaving.some) = true;
    if (is_for_all && has(statement, "goto")) leaving.all = true;
    if (has(statement, "match")) continue;
    Fate fate = follow_jumps(table, statement);
    // Nobody knows whether packets get to a chain behind other conditions; what it says of all
    // packets is left out, then.
    const bool counts = fate.kind != Kind::kClosed || names_it || is_for_all;
    if (fate.kind != Kind::kNone && counts) return fate;
  }
  return {};
}

Fate Ruleset::look_through(const std::string& name, const Chain& chain) {
  Leaving leaving;
  for (const Json* const rule : chain.rules) {
    if (!rule->is_array()) continue;
    Fate fate = apply(name, *rule, leaving);
    if (fate.kind == Kind::kClosed && leaving.some) fate = {};
    if (fate.kind != Kind::kNone || leaving.all) return fate;
  }
  return {};
}

const Fate& Ruleset::fate_in(const std::string& name) {
  Chain& chain = chains_[name];
  if (!std::exchange(chain.is_visited, true)) chain.fate = look_through(name, chain);
  return chain.fate;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

RulesetVerdict Ruleset::judge() {
  RulesetVerdict verdict;
  verdict.is_readable = true;
  std::vector<std::string> bases;
  for (const auto& [name, chain] : chains_) {
    if (chain.is_base()) bases.push_back(name);
  }
  for (const std::string& name : bases) {
    const Fate fate = fate_in(name);
    const Chain& chain = chains_[name];
    if (fate.kind == Kind::kDropped) add_once(verdict.dropping, fate.chain);
    if (!chain.closes()) continue;
    if (fate.kind == Kind::kClosed) add_once(verdict.closed, fate.chain);
    if (fate.kind == Kind::kNone && chain.policy == "drop") add_once(verdict.closed, name);
  }
  return verdict;
}

}  // namespace

RulesetVerdict judge_ruleset(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  const Json& entries = member(parsed, "nftables");
  return entries.is_array() ? Ruleset(entries).judge() : RulesetVerdict{};
}

}  // namespace urxe::doctor
