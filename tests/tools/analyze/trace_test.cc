// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/flow_trace.h"
#include "tools/analyze/log_histogram.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

using analyze::FlowEvent;
using analyze::PsnTrace;
using analyze::Turn;

uint64_t packets_of(const PsnTrace& trace) {
  uint64_t packets = 0;
  for (const PsnTrace::Point& point : trace.points()) packets += point.packets;
  return packets;
}

TEST(AnalyzeTrace, KeepsEachPacketWhileThereIsRoom) {
  PsnTrace trace;
  for (int i = 0; i < static_cast<int>(PsnTrace::kMaxPoints); ++i) trace.add(i * 10, i, 1);
  EXPECT_EQ(trace.points().size(), PsnTrace::kMaxPoints);
  EXPECT_EQ(trace.packets_per_point(), 1U);
  EXPECT_EQ(trace.points()[7].first_ns, 70);
  EXPECT_EQ(trace.points()[7].least, 7);
  EXPECT_EQ(trace.points()[7].most, 7);
}

TEST(AnalyzeTrace, MergedPointsCoverAllPackets) {
  PsnTrace trace;
  constexpr int kPackets = 100'000;
  for (int i = 0; i < kPackets; ++i) trace.add(i * 10, i, 3);
  EXPECT_LE(trace.points().size(), PsnTrace::kMaxPoints);
  EXPECT_EQ(packets_of(trace), static_cast<uint64_t>(kPackets));
  EXPECT_EQ(trace.packets_per_point(), 64U);
  for (size_t i = 1; i < trace.points().size(); ++i) {
    EXPECT_EQ(trace.points()[i].first_ns, trace.points()[i - 1].last_ns + 10);
    EXPECT_EQ(trace.points()[i].least, trace.points()[i - 1].most - 1) << "spans of 3 overlap by 2";
  }
  EXPECT_EQ(trace.points().back().most, kPackets + 1);
}

TEST(AnalyzeTrace, ReducesToAnyNumberOfPoints) {
  PsnTrace trace;
  for (int i = 0; i < 1000; ++i) trace.add(i, i % 10, 1);
  for (const size_t most : {size_t{1000}, size_t{999}, size_t{16}, size_t{1}, size_t{0}}) {
    const PsnTrace reduced = trace.reduced(most);
    EXPECT_LE(reduced.points().size(), std::max<size_t>(most, 1));
    EXPECT_EQ(packets_of(reduced), 1000U);
  }
  EXPECT_EQ(trace.reduced(1).points()[0].most, 9);
}

TEST(AnalyzeTrace, ASampleSpreadsOverAllValues) {
  analyze::Sample<int, 8> sample;
  for (int i = 0; i < 100; ++i) sample.add(i);
  EXPECT_EQ(sample.seen(), 100U);
  EXPECT_EQ(sample.every(), 16U);
  EXPECT_EQ(sample.kept(), (std::vector<int>{0, 16, 32, 48, 64, 80, 96}));
}

TEST(AnalyzeTrace, WhatASampleTakesBackIsTheNewestOne) {
  analyze::Sample<int, 8> sample;
  for (const int value : {1, 2, 1, 3}) sample.add(value);
  sample.take_back([](int value) { return value == 1; });
  EXPECT_EQ(sample.kept(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(sample.seen(), 3U);
}

TEST(AnalyzeTrace, MarksWhereAPacketWasLostAndSentAgain) {
  WireScript script;
  script.request(Operation::kWriteFirst, 5, 1024, 3072);
  script.request(Operation::kWriteLast, 7, 1024);  // 6 is lost
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kWriteMiddle, 6, 1024);
  script.request(Operation::kWriteLast, 7, 1024);
  script.ack(7, 1);
  script.finish();
  const analyze::FlowTrace& trace = script.flow().trace();
  const Psn origin = script.flow().trace_origin();
  const auto wire = [&](int64_t psn) { return (origin + static_cast<uint32_t>(psn)).value(); };
  ASSERT_EQ(trace.marks(FlowEvent::kLostBefore).kept().size(), 1U);
  EXPECT_EQ(wire(trace.marks(FlowEvent::kLostBefore).kept()[0].psn), 6U);
  ASSERT_EQ(trace.marks(FlowEvent::kSequenceNak).kept().size(), 1U);
  EXPECT_EQ(trace.marks(FlowEvent::kSequenceNak).kept()[0].frame, 3U);
  ASSERT_EQ(trace.marks(FlowEvent::kRepeatSequenceNak).kept().size(), 1U);
  EXPECT_EQ(wire(trace.marks(FlowEvent::kRepeatSequenceNak).kept()[0].psn), 7U);
  EXPECT_EQ(packets_of(trace.requests()), 4U);
  EXPECT_EQ(packets_of(trace.responses()), 2U);
}

/// Expect: as many marks of each kind as were counted.
TEST(AnalyzeTrace, MarksAgreeWithCounts) {
  WireScript script;
  script.request(Operation::kSendOnly, 0xffffff);
  script.request(Operation::kSendOnly, 0xffffff);
  script.ack(0xffffff, 1, rnr_syndrome(1));
  script.request(Operation::kSendOnly, 0xffffff);
  script.ack(0xffffff, 1);
  script.request(Operation::kSendOnly, 0);
  script.nak(NakCode::kRemoteAccessError, 0);
  script.finish();
  const analyze::FlowTrace& trace = script.flow().trace();
  const analyze::FlowCounts& counts = script.flow().counts();
  for (size_t i = 0; i < analyze::kRepeatReasons; ++i) {
    const auto reason = static_cast<analyze::RepeatReason>(i);
    EXPECT_EQ(trace.marks(repeat_event(reason)).seen(), counts.repeats.at(i));
  }
  EXPECT_EQ(trace.marks(FlowEvent::kRnrNak).seen(), 1U);
  EXPECT_EQ(trace.marks(FlowEvent::kErrorNak).seen(), 1U);
  EXPECT_EQ(counts.rnr_naks, 1U);
  EXPECT_EQ(counts.errors(), 1U);
}

TEST(AnalyzeTrace, KeepsMessagesFromTheFirstPacketToTheAnswer) {
  WireScript script;
  script.request(Operation::kWriteFirst, 5, 1024, 2048);
  script.request(Operation::kWriteLast, 6, 1024);
  script.ack(6, 1);
  script.request(Operation::kSendOnly, 7, 100);
  script.nak(NakCode::kInvalidRequest, 7);
  script.finish();
  const auto& spans = script.flow().messages().spans().kept();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].frame, 1U);
  EXPECT_EQ(spans[0].bytes, 2048U);
  EXPECT_EQ(spans[0].end_ns - spans[0].start_ns, 2'000'000);
  EXPECT_FALSE(spans[0].failed);
  EXPECT_TRUE(spans[1].failed);
}

TEST(AnalyzeTrace, ASilenceSaysWhoseTurnItWas) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.wait_ms(30);
  script.ack(5, 1, rnr_syndrome(1));
  script.wait_ms(20);
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
  script.wait_ms(1000);  // nobody has to send
  script.request(Operation::kSendOnly, 6);
  script.finish();
  const auto& silences = script.flow().silences().longest();
  ASSERT_EQ(silences.size(), 3U);
  EXPECT_EQ(silences[0].turn, Turn::kResponder);
  EXPECT_EQ(silences[0].to_ns - silences[0].from_ns, 31'000'000);
  EXPECT_EQ(silences[1].turn, Turn::kRequester);
  EXPECT_EQ(silences[1].to_ns - silences[1].from_ns, 21'000'000);
  EXPECT_EQ(silences[2].to_ns - silences[2].from_ns, 1'000'000);
}

/// Expect: the times as in the test above, counted from the first packet.
TEST(AnalyzeTrace, TheTextSaysWhoseTurnItWas) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.wait_ms(30);
  script.ack(5, 1, rnr_syndrome(1));
  script.wait_ms(20);
  script.request(Operation::kSendOnly, 5);
  const std::string text = analyze::text_report(script.finish());
  for (const char* line : {"    2 silences of 1 ms or more\n",
                           "      after 0.0 us, for 31.00 ms: the responder had to send\n",
                           "      after 31.00 ms, for 21.00 ms: the requester had to send\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(AnalyzeTrace, TheTextSaysThatOnlyTheLongestSilencesAreThere) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  for (int i = 0; i < 20; ++i) script.ack(5, 1, rnr_syndrome(1));
  const std::string text = analyze::text_report(script.finish());
  EXPECT_NE(text.find("    20 silences of 1 ms or more, the longest 16\n"), std::string::npos)
      << text;
}

TEST(AnalyzeTrace, TheLongestSilencesAreKept) {
  analyze::Silences silences;
  for (int64_t i = 1; i <= 100; ++i) silences.add({0, i * 1'000'000, Turn::kResponder});
  silences.add({0, analyze::Silences::kLeastNs - 1, Turn::kResponder});
  EXPECT_EQ(silences.count(), 100U);
  ASSERT_EQ(silences.longest().size(), analyze::Silences::kMost);
  EXPECT_EQ(silences.longest().front().to_ns, 85'000'000);
}

TEST(AnalyzeTrace, BucketsOfAHistogramHoldAllValues) {
  analyze::LogHistogram histogram;
  for (int64_t value = 0; value < 10'000; ++value) histogram.add(value);
  uint64_t count = 0;
  int64_t next = 0;
  for (const auto& bucket : histogram.buckets()) {
    EXPECT_EQ(bucket.least, next) << "no bucket lies between";
    next = bucket.most + 1;
    count += bucket.count;
  }
  EXPECT_EQ(count, 10'000U);
  EXPECT_GE(next, 10'000);
}

}  // namespace
}  // namespace urxe::test
