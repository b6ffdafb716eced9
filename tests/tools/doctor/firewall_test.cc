// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/firewall.h"

#include <gtest/gtest.h>

namespace urxe::doctor {
namespace {

std::string ruleset(const std::string& policy, const std::string& rules) {
  return R"({"nftables": [{"metainfo": {"version": "1.0.6"}},
    {"table": {"family": "inet", "name": "t", "handle": 1}},
    {"chain": {"family": "inet", "table": "t", "name": "in", "type": "filter", "hook": "input",
               "prio": 0, "policy": ")" +
         policy + "\"}}" + rules + "]}";
}

/// A rule about a UDP port, with this verdict.
std::string rule(const std::string& right, const std::string& verdict,
                 const std::string& operation = "==") {
  return R"(, {"rule": {"family": "inet", "table": "t", "chain": "in", "expr": [{"match": {"op": ")" +
         operation + R"(", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": )" +
         right + "}}, {\"counter\": null}, {\"" + verdict + "\": null}]}}";
}

using Chains = std::vector<std::string>;

TEST(DoctorRuleset, FindsRulesThatDropThePort) {
  for (const char* const right : {"4791", R"({"set": [53, 4791]})", R"({"range": [4000, 5000]})",
                                  R"({"set": [53, {"range": [4791, 4792]}]})"}) {
    EXPECT_EQ(judge_ruleset(ruleset("accept", rule(right, "drop"))).dropping, Chains{"inet t in"})
        << right;
  }
  EXPECT_EQ(judge_ruleset(ruleset("accept", rule("4791", "reject"))).dropping, Chains{"inet t in"});
}

TEST(DoctorRuleset, OtherRulesDoNotMatter) {
  for (const char* const right : {"4790", R"({"set": [53]})", R"({"range": [1, 4790]})",
                                  R"("@ports")", "null", R"({"range": [1]})"}) {
    EXPECT_TRUE(judge_ruleset(ruleset("accept", rule(right, "drop"))).dropping.empty()) << right;
  }
  EXPECT_TRUE(judge_ruleset(ruleset("accept", rule("4791", "drop", "!="))).dropping.empty());
  EXPECT_TRUE(judge_ruleset(ruleset("accept", rule("4791", "accept"))).dropping.empty());
}

// "udp dport != 22 drop"
TEST(DoctorRuleset, FindsRulesThatDropAllButAnother) {
  for (const char* const right : {"22", R"({"set": [22, 53]})", R"({"range": [1, 1023]})"}) {
    EXPECT_EQ(judge_ruleset(ruleset("accept", rule(right, "drop", "!="))).dropping,
              Chains{"inet t in"})
        << right;
    EXPECT_TRUE(judge_ruleset(ruleset("drop", rule(right, "accept", "!="))).closed.empty());
  }
  for (const char* const right : {R"("@ports")", "4791", R"({"set": [22, 4791]})", "null"}) {
    EXPECT_TRUE(judge_ruleset(ruleset("accept", rule(right, "drop", "!="))).dropping.empty())
        << right;
  }
}

TEST(DoctorRuleset, WhatIsForwardedDoesNotMatter) {
  std::string text = ruleset("accept", rule("4791", "drop"));
  text.replace(text.find("\"input\""), 7, "\"forward\"");
  EXPECT_TRUE(judge_ruleset(text).dropping.empty());
}

TEST(DoctorRuleset, TheFirstRuleDecides) {
  const std::string accept = rule("4791", "accept");
  const std::string drop = rule("4791", "drop");
  EXPECT_TRUE(judge_ruleset(ruleset("accept", accept + drop)).dropping.empty());
  EXPECT_EQ(judge_ruleset(ruleset("accept", drop + accept)).dropping, Chains{"inet t in"});
}

TEST(DoctorRuleset, FindsChainsThatAcceptOnlyWhatTheyName) {
  EXPECT_EQ(judge_ruleset(ruleset("drop", "")).closed, Chains{"inet t in"});
  EXPECT_EQ(judge_ruleset(ruleset("drop", rule("22", "accept"))).closed, Chains{"inet t in"});
  EXPECT_TRUE(judge_ruleset(ruleset("drop", rule("4791", "accept"))).closed.empty());
  EXPECT_TRUE(judge_ruleset(ruleset("accept", "")).closed.empty());
}

/// A rule of any chain, as JSON: its statements.
std::string any_rule(const std::string& chain, const std::string& statements) {
  return R"(, {"rule": {"family": "inet", "table": "t", "chain": ")" + chain + R"(", "expr": [)" +
         statements + "]}}";
}

/// A chain that others jump to.
std::string plain_chain(const std::string& name) {
  return R"(, {"chain": {"family": "inet", "table": "t", "name": ")" + name + "\"}}";
}

constexpr const char* kDrop = R"({"counter": null}, {"drop": null})";
constexpr const char* kReject = R"({"reject": {"type": "icmpx", "expr": "admin-prohibited"}})";
constexpr const char* kAccept = R"({"accept": null})";
constexpr const char* kUdp =
    R"({"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "udp"}}, )";
constexpr const char* kTcpOrUdp =
    R"({"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": {"set": ["tcp", "udp"]}}}, )";
constexpr const char* kEstablished =
    R"({"match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": ["established"]}}, )";

TEST(DoctorRuleset, ARuleForAllPacketsClosesAChain) {
  const std::string before = any_rule("in", std::string(kEstablished) + kAccept);
  for (const std::string& last : {std::string(kDrop), std::string(kReject),
                                  std::string(kUdp) + kDrop, std::string(kTcpOrUdp) + kReject}) {
    const std::string rules = before + any_rule("in", last);
    EXPECT_EQ(judge_ruleset(ruleset("accept", rules)).closed, Chains{"inet t in"}) << last;
    EXPECT_TRUE(judge_ruleset(ruleset("accept", rules)).dropping.empty());
    EXPECT_EQ(judge_firewall({"", ruleset("accept", rules), false}).level, Level::kNote);
  }
}

TEST(DoctorRuleset, ARuleWithConditionsClosesNoChain) {
  for (const char* const condition :
       {kEstablished, R"({"xt": null}, )", R"({"limit": {"rate": 10, "per": "second"}}, )",
        R"({"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "tcp"}}, )",
        R"({"match": {"op": "!=", "left": {"meta": {"key": "l4proto"}}, "right": "udp"}}, )"}) {
    const std::string rules = any_rule("in", std::string(condition) + kDrop);
    EXPECT_TRUE(judge_ruleset(ruleset("accept", rules)).closed.empty()) << condition;
  }
}

TEST(DoctorRuleset, ARuleBeforeAcceptsThePort) {
  const std::string last = any_rule("in", kDrop);
  for (const std::string& first : {rule("4791", "accept"), any_rule("in", kAccept),
                                   any_rule("in", std::string(kUdp) + kAccept)}) {
    EXPECT_TRUE(judge_ruleset(ruleset("accept", first + last)).closed.empty()) << first;
    EXPECT_TRUE(judge_ruleset(ruleset("drop", first)).closed.empty()) << first;
  }
  EXPECT_EQ(judge_ruleset(ruleset("accept", last + rule("4791", "accept"))).closed,
            Chains{"inet t in"});
}

/// "udp dport vmap DATA"
std::string port_map(const std::string& data) {
  return any_rule(
      "in", R"({"vmap": {"key": {"payload": {"protocol": "udp", "field": "dport"}}, "data": )" +
                data + "}}");
}

TEST(DoctorRuleset, AMapOfPortsDecides) {
  const std::string both = R"({"set": [[22, {"accept": null}], [4791, {"drop": null}]]})";
  EXPECT_EQ(judge_ruleset(ruleset("accept", port_map(both))).dropping, Chains{"inet t in"});
  const std::string other = R"({"set": [[22, {"drop": null}], [4791, {"accept": null}]]})";
  EXPECT_TRUE(judge_ruleset(ruleset("accept", port_map(other))).dropping.empty());
  EXPECT_TRUE(judge_ruleset(ruleset("drop", port_map(other))).closed.empty());
  const std::string neither = R"({"set": [[22, {"drop": null}]]})";
  EXPECT_TRUE(judge_ruleset(ruleset("accept", port_map(neither))).dropping.empty());
  EXPECT_EQ(judge_ruleset(ruleset("drop", port_map(neither))).closed, Chains{"inet t in"});
  const std::string named =
      R"(, {"map": {"family": "inet", "table": "t", "name": "ports", "elem": [[{"range": [4000, 5000]}, {"jump": {"target": "sub"}}]]}})";
  const std::string chains = plain_chain("sub") + any_rule("sub", kDrop) + named;
  EXPECT_EQ(judge_ruleset(ruleset("accept", chains + port_map(R"("@ports")"))).closed,
            Chains{"inet t sub"});
  EXPECT_TRUE(judge_ruleset(ruleset("accept", chains + port_map(R"("@gone")"))).closed.empty());
}

// "meta l4proto tcp th dport != 22 drop"
TEST(DoctorRuleset, ARuleForAnotherProtocolDoesNotMatter) {
  const std::string port =
      R"({"match": {"op": "!=", "left": {"payload": {"protocol": "th", "field": "dport"}}, "right": 22}}, )";
  const auto for_protocol = [&](const char* operation, const char* right) {
    const std::string match = std::string(R"({"match": {"op": ")") + operation +
                              R"(", "left": {"meta": {"key": "l4proto"}}, "right": )" + right +
                              "}}, ";
    return judge_ruleset(ruleset("accept", any_rule("in", match + port + kDrop))).dropping;
  };
  EXPECT_TRUE(for_protocol("==", R"("tcp")").empty());
  EXPECT_TRUE(for_protocol("!=", R"("udp")").empty());
  EXPECT_EQ(for_protocol("==", R"({"set": ["tcp", 17]})"), Chains{"inet t in"});
  EXPECT_EQ(for_protocol("!=", R"("tcp")"), Chains{"inet t in"});
}

TEST(DoctorRuleset, AChainThatNothingJumpsToDoesNotMatter) {
  const std::string port =
      R"({"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": 4791}}, )";
  const std::string chains = plain_chain("sub") + any_rule("sub", port + kDrop);
  EXPECT_TRUE(judge_ruleset(ruleset("accept", chains)).dropping.empty());
  for (
      const char* const jump :
      {R"({"jump": {"target": "sub"}})", R"({"goto": {"target": "sub"}})",
       R"({"vmap": {"key": {"meta": {"key": "iifname"}}, "data": {"set": [["eth0", {"jump": {"target": "sub"}}]]}}})",
       R"({"vmap": {"key": {"meta": {"key": "iifname"}}, "data": "@zones"}})"}) {
    const std::string map =
        R"(, {"map": {"family": "inet", "table": "t", "name": "zones", "elem": [["eth0", {"goto": {"target": "sub"}}]]}})";
    const std::string text = ruleset("accept", chains + map + any_rule("in", jump));
    EXPECT_EQ(judge_ruleset(text).dropping, Chains{"inet t sub"}) << jump;
  }
}

/// As firewalld does it: the zone's chain has the rules, the base chain rejects the rest.
TEST(DoctorRuleset, AChainThatIsJumpedToMayAcceptThePort) {
  const std::string jump = any_rule("in", R"({"jump": {"target": "zone"}})");
  std::string rules = plain_chain("zone") + jump + any_rule("in", kReject);
  EXPECT_EQ(judge_ruleset(ruleset("accept", rules)).closed, Chains{"inet t in"});
  const std::string port =
      R"({"match": {"op": "==", "left": {"payload": {"protocol": "udp", "field": "dport"}}, "right": 4791}}, )";
  rules += any_rule("zone", port + kAccept);
  EXPECT_TRUE(judge_ruleset(ruleset("accept", rules)).closed.empty());
  EXPECT_TRUE(
      judge_ruleset(ruleset("drop", plain_chain("zone") + jump + any_rule("zone", port + kAccept)))
          .closed.empty());
  const std::string loop = any_rule("zone", R"({"jump": {"target": "zone"}})");
  EXPECT_TRUE(judge_ruleset(ruleset("accept", plain_chain("zone") + jump + loop)).closed.empty());
}

/// As ufw does it: what is for this host returns before the drop.
TEST(DoctorRuleset, PacketsMayReturnBeforeTheDrop) {
  const std::string rules =
      plain_chain("not-local") + any_rule("in", R"({"jump": {"target": "not-local"}})") +
      any_rule("not-local", R"({"xt": null}, {"return": null})") + any_rule("not-local", kDrop);
  EXPECT_TRUE(judge_ruleset(ruleset("accept", rules)).closed.empty());
}

TEST(DoctorRuleset, TakesAnyBytes) {
  for (const char* const text : {"", "{", "[]", "null", "{\"nftables\": 3}", "\xff"}) {
    EXPECT_FALSE(judge_ruleset(text).is_readable) << text;
  }
  for (const char* const text :
       {R"({"nftables": []})", R"({"nftables": [1, null, {"rule": 3}, {"chain": []}]})",
        R"({"nftables": [{"rule": {"expr": [1, {"match": 2}, {"match": {"left": 3}}]}}]})"}) {
    const RulesetVerdict verdict = judge_ruleset(text);
    EXPECT_TRUE(verdict.is_readable) << text;
    EXPECT_TRUE(verdict.dropping.empty() && verdict.closed.empty()) << text;
  }
}

TEST(DoctorFirewall, SaysWhatWasNotRead) {
  FirewallFacts facts;
  facts.lack = "nft is not installed";
  Finding finding = judge_firewall(facts);
  EXPECT_EQ(finding.level, Level::kNote);
  EXPECT_NE(finding.what.find("nft is not installed"), std::string::npos);
  facts = {"", ruleset("accept", ""), true};
  finding = judge_firewall(facts);
  EXPECT_EQ(finding.level, Level::kOk);
  EXPECT_NE(finding.what.find("iptables-legacy"), std::string::npos);
}

TEST(DoctorFirewall, OnlyACertainDropIsAProblem) {
  EXPECT_EQ(judge_firewall({"", ruleset("accept", rule("4791", "drop")), false}).level,
            Level::kProblem);
  EXPECT_EQ(judge_firewall({"", ruleset("drop", ""), false}).level, Level::kNote);
  EXPECT_EQ(judge_firewall({"", ruleset("accept", ""), false}).level, Level::kOk);
}

}  // namespace
}  // namespace urxe::doctor
