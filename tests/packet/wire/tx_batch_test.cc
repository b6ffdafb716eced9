// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/tx_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "packet/wire/cm/mad.h"
#include "packet/wire/qpn_layout.h"
#include "tests/packet/wire/sample_packets.h"

namespace urxe {
namespace {

using test::flow_v4;
using test::flow_v6;

constexpr Opcode kSend{Service::kRc, Operation::kSendOnly};  // 16 bytes around the payload

Headers send(uint32_t psn = 0) {
  Headers headers;
  headers.bth.opcode = kSend;
  headers.bth.psn = Psn(psn);
  return headers;
}

bool add(TxBatch& batch, const Flow& flow, size_t payload, uint32_t psn = 0) {
  uint8_t* const at = batch.append(flow, send(psn), payload);
  if (at == nullptr) return false;
  std::memset(at, 0x5a, payload);
  batch.commit();
  return true;
}

/// Every segment parses with the identification that its place gives it; returns their PSNs.
std::vector<uint32_t> psns(const TxBatch& batch) {
  std::vector<uint32_t> found;
  for (const TxBatch::Message& message : batch.messages()) {
    const auto bytes = batch.bytes(message);
    EXPECT_EQ(bytes.size(), message.size);
    for (size_t i = 0; i < message.segments; ++i) {
      const size_t at = i * message.segment_size;
      const size_t size = std::min(message.segment_size, bytes.size() - at);
      const auto view = parse({bytes.subspan(at, size), message.flow, batch.identification(i)});
      EXPECT_TRUE(view) << "segment " << i;
      if (view) found.push_back(view->headers.bth.psn.value());
    }
  }
  return found;
}

TxBatch::Limits segmenting(size_t segments) {
  TxBatch::Limits limits;
  limits.segments_per_message = segments;
  limits.identification = Identification::kBySegment;
  return limits;
}

bool add_to(TxBatch& batch, Qpn qpn) {
  Headers headers = send();
  headers.bth.dest_qp = qpn;
  if (batch.append(flow_v4(), headers, 0) == nullptr) return false;
  batch.commit();
  return true;
}

TEST(TxBatch, JoinsPacketsForOneProcess) {
  TxBatch batch(segmenting(10));
  ASSERT_TRUE(add_to(batch, make_qpn(7, 1)));
  ASSERT_TRUE(add_to(batch, make_qpn(7, 2)));
  ASSERT_TRUE(add_to(batch, make_qpn(8, 2)));
  ASSERT_EQ(batch.messages().size(), 2U);
  EXPECT_EQ(batch.messages()[0].segments, 2U);
}

TEST(TxBatch, JoinsNothingWithWhatIsForQp1) {
  // Expect: what is for QP1 may be for any process.
  TxBatch batch(segmenting(10));
  for (const Qpn qpn : {kGsiQpn, kGsiQpn, Qpn(5), kGsiQpn}) ASSERT_TRUE(add_to(batch, qpn));
  ASSERT_EQ(batch.messages().size(), 3U);
  EXPECT_EQ(batch.messages()[0].segments, 2U);
}

TEST(TxBatch, RemovesMessages) {
  TxBatch batch(segmenting(2));
  for (uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(add(batch, flow_v4(), 8, i));
  batch.remove_if([&](const TxBatch::Message& message) { return message.offset == 0; });
  EXPECT_EQ(batch.messages().size(), 2U);
  EXPECT_EQ(batch.packets(), 3U);
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{2, 3, 4}));
  batch.unsegment();
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{2, 3, 4}));
}

TEST(TxBatch, RemovesPacketsAndNumbersTheRestAnew) {
  TxBatch batch(segmenting(4));
  uint32_t psn = 0;
  for (const size_t payload : {64U, 64U, 64U, 8U, 64U, 64U, 64U, 64U, 64U}) {
    ASSERT_TRUE(add(batch, flow_v4(), payload, psn++));
  }
  ASSERT_EQ(batch.messages().size(), 3U);
  batch.remove_packets([](size_t i) { return i == 2 || i == 4 || i == 5 || i == 8; });
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{0, 1, 3, 6, 7}));
  EXPECT_EQ(batch.packets(), 5U);
  ASSERT_EQ(batch.messages().size(), 3U);
  EXPECT_EQ(batch.messages()[1].segment_size, 24U);
  for (const TxBatch::Message& message : batch.messages()) {
    for (size_t i = 0; i < message.segments; ++i) {
      const auto packet = batch.bytes(message).subspan(i * message.segment_size);
      const size_t size = std::min(packet.size(), message.segment_size);
      EXPECT_TRUE(icrc_matches(message.flow, static_cast<uint16_t>(i), packet.subspan(0, size)));
    }
  }
  batch.remove_packets([](size_t) { return true; });
  EXPECT_TRUE(batch.empty());
}

TEST(TxBatch, WithoutMessagesHasAllItsRoom) {
  TxBatch::Limits limits;
  limits.bytes = 100;
  TxBatch batch(limits);
  ASSERT_TRUE(add(batch, flow_v4(), 80));
  EXPECT_FALSE(add(batch, flow_v4(), 80));
  batch.remove_if([](const TxBatch::Message&) { return true; });
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(add(batch, flow_v4(), 80));
}

TEST(TxBatch, WithoutSegmentationEveryPacketIsAMessage) {
  TxBatch batch(TxBatch::Limits{});
  EXPECT_TRUE(batch.empty());
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(add(batch, flow_v4(), 8, i));
  ASSERT_EQ(batch.messages().size(), 3U);
  EXPECT_EQ(batch.packets(), 3U);
  EXPECT_EQ(batch.messages()[1].offset, 24U);
  EXPECT_EQ(batch.messages()[1].size, 24U);
  EXPECT_EQ(batch.messages()[1].segments, 1U);
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(TxBatch, EqualPacketsJoinAndAShorterOneCloses) {
  TxBatch batch(segmenting(8));
  for (const size_t payload : {64U, 64U, 32U, 32U, 64U})
    ASSERT_TRUE(add(batch, flow_v4(), payload));
  // Expect: 64 64 32 | 32 | 64, as after the shorter one nothing may follow, and 64 is longer.
  const auto messages = batch.messages();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].segments, 3U);
  EXPECT_EQ(messages[0].segment_size, 80U);
  EXPECT_EQ(messages[0].size, 80U + 80U + 48U);
  EXPECT_TRUE(messages[0].closed);
  EXPECT_EQ(messages[1].segments, 1U);
  EXPECT_FALSE(messages[1].closed);
  EXPECT_EQ(messages[2].segments, 1U);
  EXPECT_EQ(psns(batch).size(), 5U);
}

TEST(TxBatch, AnotherFlowDoesNotJoin) {
  TxBatch batch(segmenting(8));
  Flow other_port = flow_v4();
  other_port.source_port = 0xc124;
  Flow other_class = flow_v4();
  other_class.traffic_class = 2;
  for (const Flow& flow : {flow_v4(), other_port, other_class, flow_v6(), flow_v6(), flow_v4()}) {
    ASSERT_TRUE(add(batch, flow, 16));
  }
  ASSERT_EQ(batch.messages().size(), 5U);
  EXPECT_EQ(batch.messages()[3].segments, 2U);
  EXPECT_EQ(batch.messages()[3].flow, flow_v6());
  EXPECT_EQ(psns(batch).size(), 6U);
}

TEST(TxBatch, SegmentsAndBytesOfAMessageAreLimited) {
  TxBatch::Limits limits = segmenting(3);
  TxBatch by_count(limits);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(add(by_count, flow_v4(), 16));
  ASSERT_EQ(by_count.messages().size(), 3U);
  EXPECT_EQ(by_count.messages()[2].segments, 1U);

  limits.segments_per_message = 100;
  limits.message_bytes = 100;  // three of 32
  TxBatch by_bytes(limits);
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(add(by_bytes, flow_v4(), 16));
  ASSERT_EQ(by_bytes.messages().size(), 3U);
  EXPECT_EQ(by_bytes.messages()[0].size, 96U);
  EXPECT_EQ(psns(by_bytes).size(), 7U);
}

TEST(TxBatch, FullBatchIsLeftAsItWas) {
  TxBatch::Limits limits;
  limits.bytes = 100;
  limits.packets = 3;
  TxBatch batch(limits);
  EXPECT_EQ(batch.append(flow_v4(), send(), 85), nullptr) << "16 + 85 + 3 bytes are too many";
  EXPECT_EQ(batch.append(flow_v4(), send(), SIZE_MAX), nullptr);
  ASSERT_TRUE(add(batch, flow_v4(), 0));
  ASSERT_TRUE(add(batch, flow_v4(), 0));
  EXPECT_FALSE(add(batch, flow_v4(), 53));
  ASSERT_TRUE(add(batch, flow_v4(), 52)) << "the last byte is usable";
  EXPECT_FALSE(add(batch, flow_v4(), 0));
  EXPECT_EQ(batch.packets(), 3U);
  EXPECT_EQ(psns(batch).size(), 3U);

  batch.clear();
  EXPECT_TRUE(batch.empty());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(add(batch, flow_v4(), 0));
  EXPECT_FALSE(add(batch, flow_v4(), 0)) << "the number of packets is limited too";
}

TEST(TxBatch, NoByteBeyondTheLimit) {
  for (size_t bytes = 95; bytes <= 104; ++bytes) {
    TxBatch::Limits limits;
    limits.bytes = bytes;
    TxBatch batch(limits);
    EXPECT_EQ(add(batch, flow_v4(), 84), bytes >= 100) << bytes;
  }
}

TEST(TxBatch, AbandonedPacketLeavesNoTrace) {
  TxBatch batch(segmenting(8));
  ASSERT_TRUE(add(batch, flow_v4(), 8, 1));
  ASSERT_NE(batch.append(flow_v6(), send(2), 100), nullptr);
  batch.abandon();
  ASSERT_TRUE(add(batch, flow_v4(), 8, 3));
  EXPECT_EQ(batch.packets(), 2U);
  ASSERT_EQ(batch.messages().size(), 1U);
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{1, 3}));
}

TEST(TxBatch, MessagesArePutBackAsTheyWere) {
  TxBatch batch(segmenting(4));
  for (uint32_t psn = 1; psn <= 3; ++psn) ASSERT_TRUE(add(batch, flow_v4(), 8, psn));
  for (uint32_t psn = 4; psn <= 5; ++psn) ASSERT_TRUE(add(batch, flow_v6(), 16, psn));
  std::vector<TxBatch::Message> taken;
  batch.remove_if([&](const TxBatch::Message& message) {
    taken.push_back(message);
    return true;
  });
  EXPECT_TRUE(batch.empty());
  batch.put_back(std::span(taken).last(1));
  EXPECT_EQ(batch.packets(), 2U);
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{4, 5}));
  batch.put_back(std::span(taken).first(1));
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{4, 5, 1, 2, 3}));
  ASSERT_TRUE(add(batch, flow_v4(), 8, 6));
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{4, 5, 1, 2, 3, 6})) << "it overwrites none";
}

TEST(TxBatch, PadIsZero) {
  TxBatch::Limits limits;
  limits.bytes = 64;
  TxBatch batch(limits);
  ASSERT_TRUE(add(batch, flow_v4(), 40));  // leaves 0x5a in the place of the next pad
  batch.clear();
  ASSERT_TRUE(add(batch, flow_v4(), 5));
  const auto bytes = batch.bytes(batch.messages()[0]);
  for (size_t i = 17; i < 20; ++i) EXPECT_EQ(bytes[i], 0);
}

TEST(TxBatch, IdentificationFollowsThePolicy) {
  for (const auto policy : {Identification::kZero, Identification::kBySegment}) {
    TxBatch::Limits limits = segmenting(4);
    limits.identification = policy;
    TxBatch batch(limits);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(add(batch, flow_v4(), 8));
    const bool counts = policy == Identification::kBySegment;
    const auto second = batch.bytes(batch.messages()[0]).subspan(24);
    EXPECT_EQ(icrc_matches(flow_v4(), 1, second), counts);
    EXPECT_EQ(icrc_matches(flow_v4(), 0, second), !counts);
  }
}

TxBatch::Limits unsealed(TxBatch::Limits limits) {
  limits.seals = false;
  return limits;
}

void add_some(TxBatch& batch) {
  for (const size_t payload : {64U, 64U, 64U, 9U}) ASSERT_TRUE(add(batch, flow_v4(), payload));
  ASSERT_TRUE(add(batch, flow_v6(), 33));
}

TEST(TxBatch, SealsWhenItIsTold) {
  TxBatch now(segmenting(10));
  TxBatch later(unsealed(segmenting(10)));
  add_some(now);
  add_some(later);
  ASSERT_EQ(now.messages().size(), 2U);
  ASSERT_EQ(later.messages().size(), 2U);
  const auto last_four = [&] {
    const auto bytes = later.bytes(later.messages()[1]);
    return std::vector<uint8_t>(bytes.end() - 4, bytes.end());
  };
  EXPECT_EQ(last_four(), std::vector<uint8_t>(4));
  EXPECT_FALSE(later.messages()[0].sealed);
  later.seal();
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(later.messages()[i].sealed);
    EXPECT_TRUE(std::ranges::equal(now.bytes(now.messages()[i]), later.bytes(later.messages()[i])));
  }
  later.clear();
  add_some(later);
  EXPECT_FALSE(later.messages()[0].sealed) << "as at first";
}

TEST(TxBatch, JoinsNothingWithWhatIsSealed) {
  TxBatch batch(unsealed(segmenting(10)));
  ASSERT_TRUE(add(batch, flow_v4(), 64, 1));
  batch.seal();
  ASSERT_TRUE(add(batch, flow_v4(), 64, 2));
  EXPECT_EQ(batch.messages().size(), 2U);
  batch.seal();
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{1, 2}));
}

TEST(TxBatch, SealsUnsegmentedPackets) {
  TxBatch batch(unsealed(segmenting(10)));
  for (uint32_t psn = 0; psn < 3; ++psn) ASSERT_TRUE(add(batch, flow_v4(), 64, psn));
  batch.unsegment();
  ASSERT_EQ(batch.messages().size(), 3U);
  batch.seal();
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(TxBatch, UnsegmentedPacketsAllHaveIdentificationZero) {
  TxBatch batch(segmenting(4));
  uint32_t psn = 0;
  for (const size_t payload : {64U, 64U, 64U, 64U, 64U, 8U, 8U}) {
    ASSERT_TRUE(add(batch, flow_v4(), payload, psn++));
  }
  ASSERT_TRUE(add(batch, flow_v6(), 8, psn++));
  ASSERT_EQ(batch.messages().size(), 4U);
  batch.unsegment();
  ASSERT_EQ(batch.messages().size(), 8U);
  EXPECT_EQ(batch.packets(), 8U);
  for (const TxBatch::Message& message : batch.messages()) {
    EXPECT_EQ(message.segments, 1U);
    EXPECT_TRUE(icrc_matches(message.flow, 0, batch.bytes(message)));
  }
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(batch.messages()[5].size, 24U);
  EXPECT_EQ(batch.messages()[7].flow, flow_v6());

  ASSERT_TRUE(add(batch, flow_v6(), 8, psn));
  EXPECT_EQ(batch.messages().size(), 9U) << "what is appended later is not segmented either";
}

/// A batch whose payloads lie elsewhere if they can, and one with copies of all.
struct Twins {
  explicit Twins(TxBatch::Limits limits) : copies(limits), refers(elsewhere(limits)) {}
  static TxBatch::Limits elsewhere(TxBatch::Limits limits) {
    limits.elsewhere_from = 100;
    return limits;
  }
  void add(const Flow& flow, size_t payload_bytes, uint32_t psn) {
    std::vector<uint8_t>& payload = payloads.emplace_back(payload_bytes);
    for (size_t i = 0; i < payload_bytes; ++i) payload[i] = static_cast<uint8_t>(i * 7 + psn);
    ASSERT_TRUE(copies.append_whole(flow, send(psn), payload));
    ASSERT_TRUE(refers.append_whole(flow, send(psn), payload));
  }
  void add_some() {
    uint32_t psn = 0;
    for (const size_t bytes : {200, 200, 200, 150, 101, 101, 102, 103, 99, 100, 100, 8, 8}) {
      add(flow_v4(), bytes, psn++);
      add(flow_v6(), bytes, psn++);
    }
    for (const size_t bytes : {200, 200, 200, 200, 200, 9}) add(flow_v4(), bytes, psn++);
  }
  static std::vector<uint8_t> bytes_of(const TxBatch& batch, const TxBatch::Message& message) {
    std::vector<uint8_t> bytes(message.size);
    TxBatch::copy(message, batch.bytes(message).data() - message.offset, bytes.data());
    return bytes;
  }
  void expect_equal() const {
    ASSERT_EQ(copies.packets(), refers.packets());
    ASSERT_EQ(copies.messages().size(), refers.messages().size());
    for (size_t i = 0; i < copies.messages().size(); ++i) {
      const TxBatch::Message& message = refers.messages()[i];
      EXPECT_EQ(message.segments, copies.messages()[i].segments);
      EXPECT_EQ(message.sealed, copies.messages()[i].sealed);
      EXPECT_EQ(bytes_of(refers, message), bytes_of(copies, copies.messages()[i])) << i;
    }
  }
  [[nodiscard]] size_t elsewhere() const {
    size_t packets = 0;
    for (const TxBatch::Message& message : refers.messages()) packets += message.elsewhere;
    return packets;
  }

  TxBatch copies;
  TxBatch refers;
  std::vector<std::vector<uint8_t>> payloads;
};

// Expect: the packets are the same, with their ICRCs, and those of 100 bytes and more are no
// copies.
TEST(TxBatch, PayloadsMayLieElsewhere) {
  for (const bool seals : {true, false}) {
    TxBatch::Limits limits = segmenting(4);
    limits.seals = seals;
    Twins twins(limits);
    twins.add_some();
    EXPECT_EQ(twins.elsewhere(), 2U * 10 + 5);
    twins.expect_equal();
    twins.copies.seal();
    twins.refers.seal();
    twins.expect_equal();
    EXPECT_EQ(twins.elsewhere(), 2U * 10 + 5) << "seal() copies none";

    twins.refers.gather();
    EXPECT_EQ(twins.elsewhere(), 0U);
    for (std::vector<uint8_t>& payload : twins.payloads) std::ranges::fill(payload, uint8_t{0});
    twins.expect_equal();
    EXPECT_EQ(psns(twins.refers).size(), twins.payloads.size());
  }
}

TEST(TxBatch, APayloadElsewhereIsNotCopied) {
  Twins twins(segmenting(4));
  twins.add(flow_v4(), 1000, 1);
  twins.payloads[0][500] ^= 1;
  const TxBatch::Message& message = twins.refers.messages()[0];
  const auto now = Twins::bytes_of(twins.refers, message);
  EXPECT_EQ(now[12 + 500], twins.payloads[0][500]);
  EXPECT_FALSE(icrc_matches(message.flow, 0, now));
}

// Expect: copied where an ICRC is computed, at once or later.
TEST(TxBatch, APayloadThatMayChangeIsCopiedBeforeItsIcrc) {
  for (const bool seals : {true, false}) {
    TxBatch::Limits limits = Twins::elsewhere(segmenting(4));
    limits.seals = seals;
    TxBatch batch(limits);
    std::vector<uint8_t> payload(200, uint8_t{1});
    for (uint32_t psn = 0; psn < 6; ++psn) {
      ASSERT_TRUE(batch.append_whole(flow_v4(), send(psn), payload, psn != 4));
    }
    ASSERT_EQ(batch.messages().size(), 3U) << "it joins its kind";
    EXPECT_EQ(batch.messages()[0].elsewhere, seals ? 0U : 4U);
    batch.seal();
    EXPECT_EQ(batch.messages()[0].elsewhere, 0U);
    EXPECT_EQ(batch.messages().back().elsewhere, 0U);
    batch.gather();
    payload.assign(200, uint8_t{2});
    EXPECT_EQ(psns(batch), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5}));
  }
}

TEST(TxBatch, OnlyThosePayloadsAreGatheredThatMayChange) {
  TxBatch::Limits limits = Twins::elsewhere(segmenting(4));
  limits.seals = false;
  TxBatch batch(limits);
  const std::vector<uint8_t> payload(200, uint8_t{1});
  for (const bool changes : {false, true, false}) {
    ASSERT_TRUE(batch.append_whole(flow_v4(), send(), payload, changes));
  }
  batch.gather_changing();
  std::vector<size_t> elsewhere;
  for (const TxBatch::Message& message : batch.messages()) elsewhere.push_back(message.elsewhere);
  EXPECT_EQ(elsewhere, (std::vector<size_t>{1, 0, 1}));
}

TEST(TxBatch, PayloadsElsewhereStaySoIfMessagesAreSplit) {
  for (const bool seals : {true, false}) {
    TxBatch::Limits limits = segmenting(4);
    limits.seals = seals;
    Twins twins(limits);
    twins.add_some();
    for (TxBatch* batch : {&twins.copies, &twins.refers}) {
      batch->remove_packets([](size_t i) { return i % 5 == 1; });
    }
    twins.expect_equal();
    EXPECT_GT(twins.elsewhere(), 10U);
    for (TxBatch* batch : {&twins.copies, &twins.refers}) batch->unsegment();
    twins.expect_equal();
    EXPECT_GT(twins.elsewhere(), 10U);
    for (TxBatch* batch : {&twins.copies, &twins.refers}) batch->seal();
    twins.expect_equal();
  }
}

// As the ACK that shares a datagram with a reply. Expect: only a shorter one does, as the last.
TEST(TxBatch, AShortPacketJoinsPayloadsElsewhere) {
  Twins twins(segmenting(10));
  twins.add(flow_v4(), 400, 1);
  twins.add(flow_v4(), 400, 2);
  twins.add(flow_v4(), 0, 3);
  ASSERT_EQ(twins.refers.messages().size(), 1U);
  EXPECT_EQ(twins.refers.messages()[0].elsewhere, 2U);
  EXPECT_TRUE(twins.refers.messages()[0].closed);
  twins.expect_equal();

  twins.add(flow_v4(), 400, 4);
  ASSERT_TRUE(add(twins.refers, flow_v4(), 400, 5));  // a copy
  twins.add(flow_v4(), 300, 6);
  EXPECT_EQ(twins.refers.messages().size(), 4U) << "they are of two kinds";
  for (const TxBatch::Message& message : twins.refers.messages()) {
    const auto bytes = Twins::bytes_of(twins.refers, message);
    EXPECT_TRUE(icrc_matches(message.flow, 0, std::span(bytes).first(message.segment_size)));
  }
}

// Expect: a packet that was sealed elsewhere is taken as it is, if there is room for it.
TEST(TxBatch, SealedPacketsNeedRoom) {
  TxBatch from{TxBatch::Limits{}};
  ASSERT_TRUE(add(from, flow_v4(), 100, 7));
  from.seal();
  const auto packet = from.bytes(from.messages()[0]);
  TxBatch::Limits limits;
  limits.bytes = 2 * packet.size() + 8;
  TxBatch batch(limits);
  EXPECT_TRUE(batch.append_sealed(flow_v4(), packet));
  EXPECT_TRUE(batch.append_sealed(flow_v4(), packet));
  EXPECT_FALSE(batch.append_sealed(flow_v4(), packet));
  EXPECT_EQ(psns(batch), (std::vector<uint32_t>{7, 7}));
}

}  // namespace
}  // namespace urxe
