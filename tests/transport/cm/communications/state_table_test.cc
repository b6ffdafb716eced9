// SPDX-License-Identifier: BSD-2-Clause
// The whole of both state machines, as text: every state against everything that can happen in it.
#include <gtest/gtest.h>

#include <string>

#include "transport/cm/communications/cm_state.h"

namespace urxe::test {
namespace {

const char* reply_name(CmReply reply) {
  switch (reply) {
    case CmReply::kNothing:
      return "";
    case CmReply::kRepeat:
      return " repeat";
    case CmReply::kMra:
      return " mra";
    case CmReply::kRejectStale:
      return " reject_stale";
    case CmReply::kRejectAgain:
      return " reject_again";
    case CmReply::kRejectTimeout:
      return " reject_timeout";
    case CmReply::kDrep:
      return " drep";
  }
  return " ?";
}

std::string line(const char* state, const char* input, CmVerdict verdict, const char* next,
                 CmReply reply) {
  std::string text = std::string("  ") + state + " " + input + ": ";
  if (verdict == CmVerdict::kIllegal) return "";
  text += verdict == CmVerdict::kNew ? "-> " : "again, ";
  return text + next + reply_name(reply) + "\n";
}

std::string matrix() {
  std::string text;
  for (size_t s = 0; s < kCmStates; ++s) {
    const auto state = static_cast<CmState>(s);
    for (size_t i = 0; i < kCmInputs; ++i) {
      const auto input = static_cast<CmInput>(i);
      const CmStep step = cm_step(state, input);
      text += line(cm_state_name(state), cm_input_name(input), step.verdict,
                   cm_state_name(step.next), step.reply);
    }
  }
  return text;
}

std::string alternate_matrix() {
  std::string text;
  for (size_t s = 0; s < kAlternateStates; ++s) {
    const auto state = static_cast<AlternateState>(s);
    for (size_t i = 0; i < kAlternateInputs; ++i) {
      const auto input = static_cast<AlternateInput>(i);
      const AlternateStep step = alternate_step(state, input);
      text += line(alternate_state_name(state), alternate_input_name(input), step.verdict,
                   alternate_state_name(step.next), step.reply);
    }
  }
  return text;
}

constexpr const char* kMatrix =
#include "tests/transport/cm/communications/state_matrix.inc"
    ;

TEST(CmStateTable, IsAsItIsWritten) {
  EXPECT_EQ("\n" + matrix() + "alternate path\n" + alternate_matrix(), kMatrix);
}

TEST(CmStateTable, AnIllegalStepStaysWhereItIs) {
  for (size_t s = 0; s < kCmStates; ++s) {
    for (size_t i = 0; i < kCmInputs; ++i) {
      const CmStep step = cm_step(static_cast<CmState>(s), static_cast<CmInput>(i));
      if (step.verdict != CmVerdict::kIllegal) continue;
      EXPECT_EQ(step.next, static_cast<CmState>(s));
      EXPECT_EQ(step.reply, CmReply::kNothing);
    }
  }
}

TEST(CmStateTable, EveryStateCanBeReachedAndLeft) {
  for (size_t s = 0; s < kCmStates; ++s) {
    bool reached = s == static_cast<size_t>(CmState::kIdle);
    bool left = false;
    for (size_t other = 0; other < kCmStates; ++other) {
      for (size_t i = 0; i < kCmInputs; ++i) {
        const auto input = static_cast<CmInput>(i);
        reached |= other != s &&
                   static_cast<size_t>(cm_step(static_cast<CmState>(other), input).next) == s;
        left |= static_cast<size_t>(cm_step(static_cast<CmState>(s), input).next) == other &&
                other != s;
      }
    }
    EXPECT_TRUE(reached) << cm_state_name(static_cast<CmState>(s));
    EXPECT_TRUE(left) << cm_state_name(static_cast<CmState>(s));
  }
}

}  // namespace
}  // namespace urxe::test
