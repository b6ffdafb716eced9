// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace urxe::test {
namespace {

TEST(FaultPlan, AllWords) {
  const auto plan = parse_fault_plan(
      "loss=1%,duplication=0.5%,reordering=100%,corruption=0.0001%,seed=18446744073709551615");
  ASSERT_TRUE(plan) << plan.error();
  const FaultRates rates{10000, 5000, 1000000, 1};
  EXPECT_EQ(*plan, (FaultPlan{UINT64_MAX, rates, rates}));
}

TEST(FaultPlan, WordsLeftOutAreNone) {
  const FaultRates rates{.corruption = 1200};
  EXPECT_EQ(parse_fault_plan("corruption=0.12%").value(), (FaultPlan{1, rates, rates}));
  EXPECT_EQ(parse_fault_plan("loss=0%").value(), FaultPlan{});
}

TEST(FaultPlan, DelayAndRate) {
  const FaultRates rates{.delay = microseconds(50), .bits_per_second = 10000000000};
  EXPECT_EQ(parse_fault_plan("delay=50us,rate=10G").value(), (FaultPlan{1, rates, rates}));
  EXPECT_EQ(parse_fault_plan("delay=7ns").value().outgoing.delay, nanoseconds(7));
  EXPECT_EQ(parse_fault_plan("delay=2ms").value().outgoing.delay, milliseconds(2));
  EXPECT_EQ(parse_fault_plan("delay=10s").value().outgoing.delay, seconds(10));
  EXPECT_EQ(parse_fault_plan("rate=64K").value().incoming.bits_per_second, 64000U);
  EXPECT_EQ(parse_fault_plan("rate=1000G,direction=in").value().incoming.bits_per_second,
            1000000000000U);
  for (const char* word :
       {"delay=", "delay=5", "delay=us", "delay=11s", "delay=1.5us", "delay=-1us",
        "delay=18446744073709551615s", "rate=", "rate=10", "rate=G", "rate=0G", "rate=1001G",
        "rate=1T", "rate=18446744073709551615G"}) {
    EXPECT_FALSE(parse_fault_plan(word)) << word;
  }
}

TEST(FaultPlan, Directions) {
  const FaultRates rates{.loss = 20000};
  EXPECT_EQ(parse_fault_plan("direction=out,loss=2%").value(), (FaultPlan{1, rates, {}}));
  EXPECT_EQ(parse_fault_plan("loss=2%,direction=in").value(), (FaultPlan{1, {}, rates}));
  EXPECT_EQ(parse_fault_plan("loss=2%,direction=both").value(), (FaultPlan{1, rates, rates}));
}

TEST(FaultPlan, ErrorsNameTheWordAndWhatIsAccepted) {
  for (const char* word : {"los=1%",
                           "loss",
                           "loss=",
                           "loss=1",
                           "loss=%",
                           "loss=-1%",
                           "loss=+1%",
                           "loss= 1%",
                           "loss=1%%",
                           "loss=1.%",
                           "loss=.5%",
                           "loss=1.00001%",
                           "loss=0.-1%",
                           "loss=1e1%",
                           "loss=101%",
                           "loss=429497%",  // a million times the percentage wraps around
                           "loss=100.0001%",
                           "loss=4294967297%",
                           "loss=99999999999999999999%",
                           "loss=1%;seed=2",
                           " loss=1%",
                           "LOSS=1%",
                           "seed=",
                           "seed=-1",
                           "seed=0x10",
                           "seed=18446744073709551616",
                           "direction=up",
                           "direction=",
                           "=1%",
                           "="}) {
    const auto plan = parse_fault_plan("reordering=1%," + std::string(word));
    ASSERT_FALSE(plan) << word;
    EXPECT_EQ(plan.error().find("'" + std::string(word) + "': accepted are loss=P%"), 0U)
        << plan.error();
  }
}

TEST(FaultPlan, EmptyWordsAreWrong) {
  for (const char* text : {"", ",", "loss=1%,", ",loss=1%", "loss=1%,,seed=1"}) {
    const auto plan = parse_fault_plan(text);
    ASSERT_FALSE(plan) << text;
    EXPECT_EQ(plan.error().find("'': accepted are"), 0U) << plan.error();
  }
}

TEST(FaultPlan, AWordTwiceIsWrong) {
  EXPECT_EQ(parse_fault_plan("loss=1%,seed=1,loss=1%").error(), "'loss=1%': given twice");
  EXPECT_EQ(parse_fault_plan("direction=in,loss=1%,direction=out").error(),
            "'direction=out': given twice");
}

TEST(FaultPlan, SomeFaultMustBeNamed) {
  const auto plan = parse_fault_plan("seed=7,direction=in");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().find("'seed=7,direction=in': names no fault; accepted are"), 0U);
}

}  // namespace
}  // namespace urxe::test
