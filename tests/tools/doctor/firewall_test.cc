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
