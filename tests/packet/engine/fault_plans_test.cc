// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault_plans.h"

#include <gtest/gtest.h>

#include <string>

namespace urxe::test {
namespace {

uint32_t loss_of(const FaultPlans& plans, std::string_view interface) {
  const FaultPlan* const plan = plans.of(interface);
  return plan != nullptr ? plan->outgoing.loss : 0;
}

TEST(FaultPlans, WordsAloneAreForAllInterfaces) {
  const auto plans = parse_fault_plans("loss=1%,seed=4");
  ASSERT_TRUE(plans) << plans.error();
  EXPECT_EQ(loss_of(*plans, "eth0"), 10000U);
  EXPECT_EQ(plans->of("lo")->seed, 4U);
}

TEST(FaultPlans, AnInterfaceHasItsOwn) {
  const auto plans = parse_fault_plans("eth0:loss=1%;eth1:loss=2%,direction=out");
  ASSERT_TRUE(plans) << plans.error();
  EXPECT_EQ(loss_of(*plans, "eth0"), 10000U);
  EXPECT_EQ(loss_of(*plans, "eth1"), 20000U);
  EXPECT_EQ(plans->of("eth2"), nullptr);
  EXPECT_EQ(plans->of("eth"), nullptr);
}

TEST(FaultPlans, APartWithoutAnInterfaceIsForTheOthers) {
  const auto plans = parse_fault_plans("loss=3%;eth1:loss=2%");
  ASSERT_TRUE(plans) << plans.error();
  EXPECT_EQ(loss_of(*plans, "eth0"), 30000U);
  EXPECT_EQ(loss_of(*plans, "eth1"), 20000U);
}

TEST(FaultPlans, WrongOnesAreNamed) {
  EXPECT_EQ(parse_fault_plans("eth0:loss=1%;eth0:delay=1ms").error(),
            "'eth0:delay=1ms': a second part for the same interfaces");
  EXPECT_EQ(parse_fault_plans("loss=1%;loss=2%").error(),
            "'loss=2%': a second part for the same interfaces");
  EXPECT_EQ(parse_fault_plans(":loss=1%").error(), "':loss=1%': no interface before the colon");
  for (const char* const text :
       {"", ";", "eth0:", "eth0", "loss=1%;", ";loss=1%", "a:b:loss=1%", "eth0:loss=1"}) {
    EXPECT_FALSE(parse_fault_plans(text)) << text;
  }
}

}  // namespace
}  // namespace urxe::test
