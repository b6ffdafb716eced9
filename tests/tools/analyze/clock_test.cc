// SPDX-License-Identifier: BSD-2-Clause
// Captures whose clock steps back.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/capture_clock.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

void request_and_ack(WireScript& script, uint32_t psn) {
  script.request(Operation::kSendOnly, psn);
  script.ack(psn);
}

// Expect: 6 frames, a millisecond apart. The defect: "100 bytes in -99999000.0 us".
TEST(AnalyzeClock, AStepBackIsNoNegativeTime) {
  WireScript script;
  script.wait_ms(200'000);
  request_and_ack(script, 5);
  script.wait_ms(-100'000);
  request_and_ack(script, 6);
  script.wait_ms(1);
  request_and_ack(script, 7);
  const std::string text = text_report(script.finish());
  EXPECT_EQ(script.flow().counts().duration_ns(), 5'000'000);
  EXPECT_EQ(text.find(" -"), text.find(" - ")) << text;
  EXPECT_NE(text.find("6 frames in 5.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("1 time the clock of the capture stepped back, 99.999 s"), std::string::npos)
      << text;
}

TEST(AnalyzeClock, FramesOfSeveralProgramsAreNoStep) {
  analyze::CaptureClock clock;
  for (const int64_t time_ns : {int64_t{5'000'000'000}, int64_t{4'999'000'000}}) {
    EXPECT_EQ(clock.steady(time_ns), time_ns);
  }
  EXPECT_EQ(clock.steps(), 0U);
}

TEST(AnalyzeClock, AnyTimesHaveASum) {
  analyze::CaptureClock clock;
  for (int64_t seconds = 0; seconds < 3; ++seconds) {
    EXPECT_GT(clock.steady(INT64_MAX / 2 - seconds * 1'000'000'000), 0);
    EXPECT_GT(clock.steady(0), 0);
  }
  EXPECT_EQ(clock.stepped_ns(), INT64_MAX);
}

TEST(AnalyzeClock, AFrameThatWasWrittenLateIsNoStep) {
  constexpr int64_t kSecond = 1'000'000'000;
  analyze::CaptureClock clock;
  EXPECT_EQ(clock.steady(10 * kSecond), 10 * kSecond);
  EXPECT_EQ(clock.steady(7 * kSecond), 10 * kSecond);
  EXPECT_EQ(clock.steady(11 * kSecond), 11 * kSecond);
  EXPECT_EQ(clock.steps(), 0U);
}

}  // namespace
}  // namespace urxe::test
