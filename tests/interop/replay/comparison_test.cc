// SPDX-License-Identifier: BSD-2-Clause
// What holds our packets against recorded ones finds whatever differs.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "packet/wire/tx_batch.h"
#include "tests/interop/replay/alignment.h"
#include "tests/interop/replay/packet_comparison.h"
#include "tests/interop/replay/side_replay.h"

namespace urxe::replay {
namespace {

/// A packet to compare; its bytes are kept as long as it is.
struct Packet {
  TxBatch batch{TxBatch::Limits{}};
  Frame frame;
};

std::unique_ptr<Packet> make_packet(const Headers& headers, const Flow& flow = {},
                                    const std::vector<uint8_t>& payload = {}) {
  auto packet = std::make_unique<Packet>();
  uint8_t* out = packet->batch.append(flow, headers, payload.size());
  std::copy(payload.begin(), payload.end(), out);
  packet->batch.commit();
  packet->frame.number = 1;
  packet->frame.packet = {packet->batch.bytes(packet->batch.messages()[0]), flow, 0};
  packet->frame.view = parse(packet->frame.packet).value();
  return packet;
}

Headers headers_of(Service service, Operation operation, uint32_t psn = 7) {
  Headers headers;
  headers.bth.opcode = Opcode(service, operation);
  headers.bth.dest_qp = Qpn{0x11};
  headers.bth.psn = Psn{psn};
  headers.aeth = {kAckNoCredits, Msn{3}};
  return headers;
}

Ledger compare(const Headers& ours, const Headers& recorded) {
  Ledger ledger;
  compare_packets(make_packet(ours)->frame, make_packet(recorded)->frame, ledger);
  return ledger;
}

struct Case {
  const char* field;
  Service service;
  Operation operation;
  std::function<void(Headers&)> change;
};

// Expect: each changed field is an error that names it.
TEST(PacketComparison, FindsEachFieldThatDiffers) {
  using enum Operation;
  constexpr Service kRc = Service::kRc;
  const Case cases[] = {
      {"opcode", kRc, kSendOnly, [](Headers& h) { h.bth.opcode = Opcode(kRc, kSendLast); }},
      {"solicited event", kRc, kSendOnly, [](Headers& h) { h.bth.solicited = true; }},
      {"P_Key", kRc, kSendOnly, [](Headers& h) { h.bth.pkey = PKey{0x7fff}; }},
      {"destination QP", kRc, kSendOnly, [](Headers& h) { h.bth.dest_qp = Qpn{0x12}; }},
      {"PSN", kRc, kSendOnly, [](Headers& h) { h.bth.psn = Psn{8}; }},
      {"FECN or BECN", kRc, kSendOnly, [](Headers& h) { h.bth.becn = true; }},
      {"AckReq", kRc, kSendOnly, [](Headers& h) { h.bth.ack_req = true; }},
      {"AckReq", Service::kUc, kSendFirst, [](Headers& h) { h.bth.ack_req = true; }},
      {"MSN", kRc, kAcknowledge, [](Headers& h) { h.aeth.msn = Msn{4}; }},
      {"kind of AETH syndrome", kRc, kAcknowledge, [](Headers& h) { h.aeth.syndrome = 0x60; }},
      {"RETH address", kRc, kWriteOnly, [](Headers& h) { h.reth.va = 8; }},
      {"RETH key", kRc, kWriteOnly, [](Headers& h) { h.reth.rkey = RKey{8}; }},
      {"RETH length", kRc, kReadRequest, [](Headers& h) { h.reth.dma_length = 8; }},
      {"AtomicETH address", kRc, kFetchAdd, [](Headers& h) { h.atomic.va = 8; }},
      {"AtomicETH key", kRc, kFetchAdd, [](Headers& h) { h.atomic.rkey = RKey{8}; }},
      {"AtomicETH swap or add", kRc, kFetchAdd, [](Headers& h) { h.atomic.swap_or_add = 8; }},
      {"AtomicETH compare", kRc, kCompareSwap, [](Headers& h) { h.atomic.compare = 8; }},
      {"atomic's original value", kRc, kAtomicAcknowledge,
       [](Headers& h) { h.atomic_original = 8; }},
      {"immediate data", kRc, kSendOnlyImm, [](Headers& h) { h.immediate_be = 8; }},
      {"IETH", kRc, kSendOnlyInvalidate, [](Headers& h) { h.invalidate = RKey{8}; }},
      {"Q_Key", Service::kUd, kSendOnly, [](Headers& h) { h.deth.qkey = QKey{8}; }},
      {"source QP", Service::kUd, kSendOnly, [](Headers& h) { h.deth.source_qp = Qpn{8}; }},
  };
  for (const Case& c : cases) {
    const Headers ours = headers_of(c.service, c.operation);
    Headers recorded = ours;
    EXPECT_EQ(compare(ours, recorded).errors().size(), 0U) << c.field;
    c.change(recorded);
    const Ledger ledger = compare(ours, recorded);
    ASSERT_FALSE(ledger.errors().empty()) << c.field;
    EXPECT_EQ(ledger.errors()[0].find(c.field), 0U) << ledger.errors()[0];
  }
}

TEST(PacketComparison, FindsOtherPayloadPadAndAddresses) {
  const Headers headers = headers_of(Service::kRc, Operation::kSendOnly);
  Flow elsewhere;
  elsewhere.destination.bytes[0] = 1;
  const auto ours = make_packet(headers, {}, {1, 2, 3});
  const std::vector<std::unique_ptr<Packet>> others = [&] {
    std::vector<std::unique_ptr<Packet>> packets;
    packets.push_back(make_packet(headers, {}, {1, 2, 4}));
    packets.push_back(make_packet(headers, {}, {1, 2, 3, 0}));
    packets.push_back(make_packet(headers, elsewhere, {1, 2, 3}));
    return packets;
  }();
  for (const auto& other : others) {
    Ledger ledger;
    compare_packets(ours->frame, other->frame, ledger);
    EXPECT_FALSE(ledger.errors().empty());
  }
}

// Expect: no errors, but each noted under its name.
TEST(PacketComparison, NotesWhatMayDiffer) {
  Headers ours = headers_of(Service::kRc, Operation::kSendFirst);
  Headers recorded = ours;
  recorded.bth.mig_req = false;
  recorded.bth.ack_req = true;
  Ledger ledger;
  Flow other_port;
  other_port.source_port = 0xc123;
  const std::vector<uint8_t> payload(1024);
  compare_packets(make_packet(ours, {}, payload)->frame,
                  make_packet(recorded, other_port, payload)->frame, ledger);
  EXPECT_EQ(ledger.errors().size(), 0U);
  for (const Difference difference :
       {Difference::kSourcePort, Difference::kMigReq, Difference::kAckReq}) {
    EXPECT_EQ(ledger.times(difference), 1U) << row_of(difference).name;
  }
}

TEST(Ledger, VerdictWantsEachDifferenceExactlyAsOftenAsAllowed) {
  Ledger ledger;
  EXPECT_EQ(ledger.verdict({}), "");
  EXPECT_NE(ledger.verdict({{Difference::kResumedRead, 1}}), "");
  ledger.note(Difference::kResumedRead, "here");
  EXPECT_EQ(ledger.verdict({{Difference::kResumedRead, 1}}), "");
  EXPECT_NE(ledger.verdict({}), "");
  ledger.note(Difference::kCredits, "anywhere");
  EXPECT_EQ(ledger.verdict({{Difference::kResumedRead, 1}}), "");
  ledger.error("wrong");
  EXPECT_EQ(ledger.verdict({{Difference::kResumedRead, 1}}), "wrong\n");
}

/// The PSNs of a sequence, and packets with them.
struct Sequence {
  explicit Sequence(const std::vector<uint32_t>& psns) {
    for (const uint32_t psn : psns) {
      packets.push_back(make_packet(headers_of(Service::kRc, Operation::kSendOnly, psn)));
      frames.push_back(&packets.back()->frame);
    }
  }
  std::vector<std::unique_ptr<Packet>> packets;
  Frames frames;
};

// Expect: 2 was lost and sent again; the rest has its partner, each the earliest.
TEST(Alignment, PairsWhatCorrespondsInOrder) {
  const Sequence ours({1, 2, 3, 2, 3, 4});
  const Sequence recorded({1, 3, 2, 3, 4, 4});
  std::vector<std::pair<uint32_t, uint32_t>> got;
  for (const Pair& pair : align(ours.frames, recorded.frames)) {
    got.emplace_back(pair.ours != nullptr ? pair.ours->psn().value() : 0,
                     pair.recorded != nullptr ? pair.recorded->psn().value() : 0);
  }
  const std::vector<std::pair<uint32_t, uint32_t>> want = {{1, 1}, {2, 0}, {3, 3}, {2, 2},
                                                           {3, 3}, {4, 4}, {0, 4}};
  EXPECT_EQ(got, want);
}

TEST(Alignment, AnAckIsNoPartnerOfANak) {
  Headers nak = headers_of(Service::kRc, Operation::kAcknowledge);
  const auto ours = make_packet(nak);
  nak.aeth.syndrome = nak_syndrome(NakCode::kPsnSequenceError);
  const auto recorded = make_packet(nak);
  EXPECT_EQ(align({&ours->frame}, {&recorded->frame}).size(), 2U);
}

}  // namespace
}  // namespace urxe::replay
