// SPDX-License-Identifier: BSD-2-Clause
// Datagrams that are several packets, as a capture shows them above an offload.
#include <gtest/gtest.h>

#include <algorithm>

#include "packet/wire/port_probe.h"
#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/report.h"
#include "tools/analyze/report_object.h"

namespace urxe::test::segments_test {
namespace {

using Frame = std::vector<uint8_t>;
constexpr size_t kToBth = kIpv4HeaderBytes + kUdpHeaderBytes;

/// One request, with the identification that an offload gives the `nth` packet.
Frame request(WireScript& script, Operation operation, uint32_t psn, size_t payload,
              uint16_t nth = 0) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, operation);
  headers.bth.psn = Psn(psn);
  headers.bth.dest_qp = kResponderQpn;
  headers.reth.dma_length = 3000;
  script.identification = nth;
  return script.build(true, headers, payload);
}

/// One datagram of these packets.
Frame merge(std::initializer_list<Frame> packets) {
  Frame merged = *packets.begin();
  for (auto it = packets.begin() + 1; it != packets.end(); ++it) {
    merged.insert(merged.end(), it->begin() + kToBth, it->end());
  }
  store_be16(&merged[2], static_cast<uint16_t>(merged.size()));
  store_be16(&merged[kIpv4HeaderBytes + 4],
             static_cast<uint16_t>(merged.size() - kIpv4HeaderBytes));
  return merged;
}

// A WRITE of 3000 bytes as the sender gave it to its interface: larger than any packet.
TEST(AnalyzeSegments, ALargeDatagramIsItsPackets) {
  WireScript script;
  script.feed(merge({request(script, Operation::kSendFirst, 5, 1024, 0),
                     request(script, Operation::kSendMiddle, 6, 1024, 1),
                     request(script, Operation::kSendMiddle, 7, 1024, 2),
                     request(script, Operation::kSendMiddle, 8, 1024, 3),
                     request(script, Operation::kSendLast, 9, 200, 4)}));
  script.ack(9, 1);
  const analyze::Analysis& analysis = script.finish();
  EXPECT_FALSE(analysis.found_something()) << text_report(analysis);
  EXPECT_EQ(analysis.counts().split, 1U);
  EXPECT_EQ(analysis.counts().merged, 0U);
  EXPECT_EQ(analysis.counts().roce, 2U);
  EXPECT_EQ(script.flow().counts().packets, 5U);
  EXPECT_EQ(script.flow().missing(), 0U);
  EXPECT_EQ(report_object(analysis)["capture"]["split"], 1);
  EXPECT_NE(text_report(analysis).find("1 datagram was captured above an offload"),
            std::string::npos);
}

// The defect: small packets in one datagram were one packet with a wrong ICRC.
TEST(AnalyzeSegments, ASmallDatagramIsItsPackets) {
  WireScript script;
  script.feed(merge({request(script, Operation::kSendOnly, 5, 64),
                     request(script, Operation::kSendOnly, 6, 64, 1)}));
  const analyze::Analysis& analysis = script.finish();
  EXPECT_FALSE(analysis.found_something()) << text_report(analysis);
  EXPECT_EQ(analysis.counts().bad_icrc, 0U);
  EXPECT_EQ(script.flow().counts().packets, 2U);
}

// A receive offload takes packets with one identification.
TEST(AnalyzeSegments, IdentificationsNeedNotCount) {
  WireScript script;
  script.feed(merge({request(script, Operation::kSendOnly, 5, 64, 7),
                     request(script, Operation::kSendOnly, 6, 64, 7),
                     request(script, Operation::kSendOnly, 7, 60, 7)}));
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().counts().packets, 3U);
}

TEST(AnalyzeSegments, OnlyTheDamagedPacketIsDamaged) {
  WireScript script;
  Frame merged = merge({request(script, Operation::kSendOnly, 5, 64),
                        request(script, Operation::kSendOnly, 6, 64, 1),
                        request(script, Operation::kSendOnly, 7, 64, 2)});
  merged[kToBth + 80 + 20] ^= 1;  // of the second
  script.feed(merged);
  const analyze::Analysis& analysis = script.finish();
  EXPECT_EQ(analysis.counts().bad_icrc, 1U);
  EXPECT_EQ(script.flow().counts().packets, 2U);
}

TEST(AnalyzeSegments, WhatIsNotWholeIsNotSplit) {
  WireScript script;
  const Frame merged = merge({request(script, Operation::kSendFirst, 5, 4096),
                              request(script, Operation::kSendLast, 6, 4096, 1)});
  script.cut_at = 200;
  script.feed(merged);
  const analyze::Analysis& analysis = script.finish();
  EXPECT_EQ(analysis.counts().merged, 1U);
  EXPECT_EQ(analysis.counts().split + analysis.counts().bad_icrc, 0U);
}

TEST(AnalyzeSegments, ADamagedPacketIsOne) {
  WireScript script;
  Frame one = request(script, Operation::kSendOnly, 5, 2048);
  one[kToBth + 100] ^= 1;
  script.feed(one);
  EXPECT_EQ(script.finish().counts().bad_icrc, 1U);
  EXPECT_EQ(script.finish().counts().split, 0U);
}

// Probes of port 4791 have no ICRC. They go to the host itself, and to one whose process is silent.
// The defect: whatever tcpdump recorded on an interface from the start of a program was bad, and so
// was what followed the end of a killed peer.
TEST(AnalyzeSegments, ProbesAreNoDamagedPackets) {
  for (const bool to_itself : {true, false}) {
    WireScript script;
    Frame frame = request(script, Operation::kSendOnly, 5, 16);
    const auto probe = encode_probe({3, 0x1234, 7});
    frame.resize(kToBth);
    frame.insert(frame.end(), probe.begin(), probe.end());
    if (to_itself) std::copy_n(frame.begin() + 12, 4, frame.begin() + 16);
    script.feed(frame);
    const analyze::Analysis& analysis = script.finish();
    EXPECT_FALSE(analysis.found_something());
    EXPECT_EQ(analysis.counts().about_ports, 1U);
    EXPECT_EQ(analysis.counts().bad_icrc, 0U);
  }
}

}  // namespace
}  // namespace urxe::test::segments_test
