// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/report.h"

#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// The defect: "1 NAKs", "1 packets".
TEST(AnalyzeReport, OneThingIsNoPlural) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U}) script.request(Operation::kSendOnly, psn, 1);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 6, 1);
  script.request(Operation::kSendOnly, 7, 1);
  script.ack(7);
  const std::string text = analyze::text_report(script.finish());
  for (const char* const words :
       {" 1 ACK,", " 1 NAK,", "1 packet lost before the capture point", "1 packet sent again"}) {
    EXPECT_TRUE(contains(text, words)) << words << "\n" << text;
  }
  for (const char* const words : {" 1 ACKs", " 1 NAKs", "1 packets", "1 bytes", "1 frames"}) {
    EXPECT_FALSE(contains(text, words)) << words << "\n" << text;
  }
}

TEST(AnalyzeReport, SeveralThingsAreAPlural) {
  WireScript script;
  for (const uint32_t psn : {5U, 6U}) {
    script.request(Operation::kSendOnly, psn);
    script.ack(psn);
  }
  const std::string text = analyze::text_report(script.finish());
  EXPECT_TRUE(contains(text, "4 frames in ")) << text;
  EXPECT_TRUE(contains(text, "sends 2 request packets, 200 bytes in ")) << text;
  EXPECT_TRUE(contains(text, "2 ACKs, ")) << text;
}

/// The defect: nothing said that the capture has nothing to judge.
TEST(AnalyzeReport, ACaptureWithoutRoceSaysSo) {
  analyze::Analysis analysis;
  const std::vector<uint8_t> frame(60);
  analysis.on_frame({1, 0, analyze::LinkType::kEthernet, frame, frame.size()});
  analysis.finish();
  EXPECT_TRUE(contains(analyze::text_report(analysis), "No RoCEv2 packet was found"));
  EXPECT_FALSE(analysis.found_something());
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  EXPECT_FALSE(contains(analyze::text_report(script.finish()), "No RoCEv2 packet"));
}

}  // namespace
}  // namespace urxe::test
