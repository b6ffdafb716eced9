// SPDX-License-Identifier: BSD-2-Clause
// What is said of the messages of the communication managers.
#include <gtest/gtest.h>

#include <utility>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/report.h"
#include "tools/analyze/report_object.h"

namespace urxe::test {
namespace {

// urxe asks whether the other end still exists, by a DREQ for a queue pair that cannot exist.
// Expect: no disconnect but the one of the queue pair, and nothing repeated.
// The defect: the first question was the DREQ, and the others were repeats.
TEST(AnalyzeCm, QuestionsWhetherThePeerExistsAreNoDisconnect) {
  constexpr Qpn kNone{0xffffff};
  WireScript script;
  script.connect(14);
  for (const bool forth : {true, false, true}) script.disconnect(forth, kNone);
  script.disconnect(true, kResponderQpn);
  const analyze::CmExchange& exchange = script.finish().cm().all().front();
  EXPECT_EQ(exchange.dreq_ns - exchange.req_ns, 5'000'000);
  EXPECT_EQ(exchange.repeated, 0U);
  EXPECT_EQ(exchange.questions, 3U);
  const std::string text = text_report(script.finish());
  EXPECT_NE(text.find("DREQ after 5.00 ms, 3 questions whether the other end exists\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(report_object(script.finish())["cm"][0]["questions"], 3);
}

// Simulators begin their captures at 0.
// The defect: a message at that time counted as one that had not come.
TEST(AnalyzeCm, ACaptureMayBeginAtZero) {
  WireScript script;
  script.wait_ms(-1);
  script.connect(14);
  const analyze::CmExchange& exchange = script.finish().cm().all().front();
  EXPECT_EQ(exchange.req_ns, 0);
  EXPECT_EQ(exchange.repeated, 0U);
  EXPECT_NE(exchange.rep_ns, analyze::kNotSeen);
  EXPECT_EQ(exchange.rtu_ns, analyze::kNotSeen);
  script.request(Operation::kSendOnly, 5, 10);
  EXPECT_NE(text_report(script.finish()).find(", by CM"), std::string::npos)
      << text_report(script.finish());
  const auto json = report_object(script.finish())["cm"][0];
  EXPECT_EQ(json["at_ns"]["req"], 0);
  EXPECT_TRUE(json["at_ns"]["rtu"].is_null());
  EXPECT_EQ(json["service_id"], "0x0") << "no number: JavaScript's have 53 bits";
}

// Expect: the packets of a connection of any service belong to the one that the messages made.
// The defect: it counted as RC, and the packets of UC and XRC began one of their own, without the
// path MTU, the ACK timeout and the first PSN.
TEST(AnalyzeCm, ConnectionsOfAllServicesAreKnown) {
  const std::pair<CmTransport, Service> services[] = {{CmTransport::kRc, Service::kRc},
                                                      {CmTransport::kUc, Service::kUc},
                                                      {CmTransport::kExtended, Service::kXrc}};
  for (const auto& [transport, service] : services) {
    WireScript script;
    script.use(service);
    script.connect(14, transport);
    script.request(Operation::kSendOnly, 5);
    const analyze::Analysis& analysis = script.finish();
    ASSERT_EQ(analysis.connections().streams().size(), 2U) << static_cast<int>(service);
    EXPECT_EQ(analysis.connections().streams().front().service, service);
    EXPECT_TRUE(analysis.connections().streams().front().from_cm);
    EXPECT_EQ(script.flow().counts().packets, 1U);
  }
}

TEST(AnalyzeCm, ADisconnectThatComesTwiceIsARepeat) {
  WireScript script;
  script.connect(14);
  script.disconnect(true, kResponderQpn);
  script.disconnect(true, kResponderQpn);
  const analyze::CmExchange& exchange = script.finish().cm().all().front();
  EXPECT_EQ(exchange.repeated, 1U);
  EXPECT_EQ(exchange.questions, 0U);
}

}  // namespace
}  // namespace urxe::test
