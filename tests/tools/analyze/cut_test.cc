// SPDX-License-Identifier: BSD-2-Clause
// Captures whose frames are cut, some of them within the headers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

using analyze::RepeatReason;

constexpr size_t kToBth = kIpv4HeaderBytes + kUdpHeaderBytes + kBthBytes;

/// Expect: of a capture in which nothing was lost, nothing is said to be lost, however it is cut
/// behind the BTH.
TEST(AnalyzeCut, NothingIsLostBehindTheHeadersThatWereKept) {
  for (size_t kept = kToBth; kept < kToBth + 36; ++kept) {
    WireScript script;
    script.cut_at = kept;
    script.request(Operation::kWriteFirst, 5, 1024, 2048);
    script.request(Operation::kWriteLast, 6, 1024);
    script.ack(6, 1);
    script.request(Operation::kReadRequest, 7, 0, 2500);
    script.respond(Operation::kReadResponseFirst, 7, 1024, 2);
    script.respond(Operation::kReadResponseMiddle, 8, 1024, 2);
    script.respond(Operation::kReadResponseLast, 9, 452, 2);
    script.request(Operation::kReadRequest, 10, 0, 2000);
    script.request(Operation::kSendOnlyImm, 12);
    script.respond(Operation::kReadResponseFirst, 10, 1024, 3);
    script.respond(Operation::kReadResponseLast, 11, 976, 3);
    script.ack(12, 4);
    script.request(Operation::kFetchAdd, 13, 0);
    script.respond(Operation::kAtomicAcknowledge, 13, 0, 5);
    const analyze::Analysis& analysis = script.finish();
    const analyze::FlowCounts& counts = script.flow().counts();
    EXPECT_FALSE(analysis.found_something()) << kept << "\n" << analyze::text_report(analysis);
    EXPECT_EQ(analysis.counts().cut, 0U) << kept;
    EXPECT_EQ(analysis.connections().streams().size(), 2U) << kept;
    EXPECT_EQ(counts.packets, 6U) << kept;
    EXPECT_EQ(counts.missed + counts.repeated_responses + counts.early_responses, 0U) << kept;
    EXPECT_EQ(script.flow().missing(), 0U) << kept;
    EXPECT_EQ(script.flow().path_mtu(), 1024U) << kept;
    EXPECT_TRUE(script.flow().messages().outstanding().empty()) << kept;
    EXPECT_EQ(counts.cut_answers, kept < kToBth + 4 ? 2U : 0U) << kept;
  }
}

TEST(AnalyzeCut, ARepeatAfterACutAnswerIsNoTimeOut) {
  WireScript script;
  script.cut_at = kToBth;
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 0, rnr_syndrome(10));
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().counts().cut_answers, 2U);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
  EXPECT_EQ(script.repeats(RepeatReason::kUnknown), 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 0U);
}

TEST(AnalyzeCut, AnAnswerToWhatIsMissingIsANak) {
  WireScript script;
  script.cut_at = kToBth;
  for (const uint32_t psn : {5U, 7U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {6U, 7U}) script.request(Operation::kSendOnly, psn);
  script.ack(7, 3);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 1U);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
}

/// A packet that was missing turns up within the PSNs that a READ of unknown length might take.
TEST(AnalyzeCut, WhatIsMissingBehindAReadIsNoOtherConnection) {
  WireScript script;
  script.cut_at = kToBth;
  script.request(Operation::kReadRequest, 5, 0, 2048);
  script.request(Operation::kSendOnly, 8);  // 7 is lost
  script.respond(Operation::kReadResponseFirst, 5, 1024);
  script.respond(Operation::kReadResponseLast, 6, 1024);
  script.nak(NakCode::kPsnSequenceError, 7);
  for (const uint32_t psn : {7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.ack(8);
  const analyze::Analysis& analysis = script.finish();
  EXPECT_EQ(analysis.connections().streams().size(), 2U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U) << analyze::text_report(analysis);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
}

struct Sums {
  uint64_t lost_before = 0;
  uint64_t lost_after = 0;
  uint64_t timeouts = 0;
  uint64_t probes = 0;
  uint64_t packets = 0;
  size_t connections = 0;
  bool found = false;
};

/// Of the frames of a capture, cut behind `most` bytes.
Sums sums_of(const std::string& path, size_t most) {
  analyze::Analysis analysis;
  const auto read = analyze::read_capture(path, [&](analyze::CapturedFrame frame) {
    frame.bytes = frame.bytes.first(std::min(frame.bytes.size(), most));
    analysis.on_frame(frame);
  });
  EXPECT_TRUE(read.has_value()) << path;
  analysis.finish();
  Sums sums;
  sums.found = analysis.found_something();
  sums.connections = analyze::list_connections(analysis.connections()).size();
  for (const analyze::Stream& stream : analysis.connections().streams()) {
    const analyze::FlowCounts& counts = stream.requests.counts();
    sums.lost_before += counts.lost_before;
    sums.lost_after += counts.lost_after;
    sums.timeouts += counts.timeouts;
    sums.probes += counts.repeats.at(static_cast<size_t>(RepeatReason::kProbe));
    sums.packets += counts.packets;
  }
  return sums;
}

/// The defect: a capture of the first 54 to 68 bytes of each frame had losses and time-outs that
/// the whole one does not have, and failed.
TEST(AnalyzeCut, ACutSampleHasNoLossesThatTheWholeOneLacks) {
  constexpr size_t kWhole = 65535;
  constexpr size_t kEthernetToBth = 14 + kToBth;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(URXE_PCAP_SAMPLES)) {
    const std::string path = entry.path();
    if (entry.path().extension() != ".pcap" || path.find("_v6") != std::string::npos) continue;
    const Sums whole = sums_of(path, kWhole);
    for (size_t kept = kEthernetToBth; kept <= kEthernetToBth + 16; kept += 2) {
      const Sums cut = sums_of(path, kept);
      EXPECT_LE(cut.found, whole.found) << path << " " << kept;
      EXPECT_LE(cut.lost_before, whole.lost_before) << path << " " << kept;
      EXPECT_LE(cut.lost_after, whole.lost_after) << path << " " << kept;
      // That a READ is asked for in part shows only in its RETH.
      EXPECT_LE(cut.timeouts, whole.timeouts + whole.probes) << path << " " << kept;
      EXPECT_EQ(cut.packets, whole.packets) << path << " " << kept;
      EXPECT_EQ(cut.connections, whole.connections) << path << " " << kept;
    }
  }
}

}  // namespace
}  // namespace urxe::test
