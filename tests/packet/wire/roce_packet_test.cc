// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/roce_packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "packet/wire/text/format.h"
#include "tests/packet/wire/sample_packets.h"

namespace urxe {
namespace {

using test::flow_v4;
using test::flow_v6;
using test::full_headers;
using test::make_packet;

std::vector<Opcode> known_opcodes() {
  std::vector<Opcode> opcodes;
  for (unsigned value = 0; value < 256; ++value) {
    const Opcode opcode(static_cast<uint8_t>(value));
    if (!opcode_info(opcode).name.empty()) opcodes.push_back(opcode);
  }
  return opcodes;
}

Expected<PacketView, DropReason> parse_v4(const std::vector<uint8_t>& bytes) {
  return parse({bytes, flow_v4(), uint16_t{0}});
}

DropReason reason(const std::vector<uint8_t>& bytes) {
  const auto view = parse_v4(bytes);
  return view ? DropReason::kCount : view.error();
}

/// The field that differs is set, the ICRC made right again, and parse() asked.
template <class Change>
DropReason reason_after(std::vector<uint8_t> bytes, Change change) {
  change(bytes);
  test::reseal(bytes, flow_v4());
  return reason(bytes);
}

void expect_same_bth(const Bth& a, const Bth& b) {
  EXPECT_EQ(a.opcode, b.opcode);
  EXPECT_EQ(a.solicited, b.solicited);
  EXPECT_EQ(a.mig_req, b.mig_req);
  EXPECT_EQ(a.fecn, b.fecn);
  EXPECT_EQ(a.becn, b.becn);
  EXPECT_EQ(a.ack_req, b.ack_req);
  EXPECT_EQ(a.pkey, b.pkey);
  EXPECT_EQ(a.dest_qp, b.dest_qp);
  EXPECT_EQ(a.psn, b.psn);
}

void expect_same_extensions(Ext extensions, const Headers& a, const Headers& b) {
  if (has(extensions, Ext::kXrceth)) {
    EXPECT_EQ(a.xrc_srq, b.xrc_srq);
  }
  if (has(extensions, Ext::kDeth)) {
    EXPECT_EQ(a.deth.qkey, b.deth.qkey);
    EXPECT_EQ(a.deth.source_qp, b.deth.source_qp);
  }
  if (has(extensions, Ext::kFeth)) {
    EXPECT_EQ(a.feth.placement, b.feth.placement);
    EXPECT_EQ(a.feth.selectivity, b.feth.selectivity);
  }
  if (has(extensions, Ext::kReth)) {
    EXPECT_EQ(a.reth.va, b.reth.va);
    EXPECT_EQ(a.reth.rkey, b.reth.rkey);
    EXPECT_EQ(a.reth.dma_length, b.reth.dma_length);
  }
  if (has(extensions, Ext::kAtomicEth)) {
    EXPECT_EQ(a.atomic.va, b.atomic.va);
    EXPECT_EQ(a.atomic.rkey, b.atomic.rkey);
    EXPECT_EQ(a.atomic.swap_or_add, b.atomic.swap_or_add);
    EXPECT_EQ(a.atomic.compare, b.atomic.compare);
  }
  if (has(extensions, Ext::kAeth)) {
    EXPECT_EQ(a.aeth.syndrome, b.aeth.syndrome);
    EXPECT_EQ(a.aeth.msn, b.aeth.msn);
  }
  if (has(extensions, Ext::kAtomicAckEth)) {
    EXPECT_EQ(a.atomic_original, b.atomic_original);
  }
  if (has(extensions, Ext::kImmDt)) {
    EXPECT_EQ(a.immediate_be, b.immediate_be);
  }
  if (has(extensions, Ext::kIeth)) {
    EXPECT_EQ(a.invalidate, b.invalidate);
  }
}

TEST(RocePacket, EveryOpcodeComesBackAsItWasWritten) {
  for (const Opcode opcode : known_opcodes()) {
    const OpcodeInfo& info = opcode_info(opcode);
    SCOPED_TRACE(info.name);
    const Headers headers = full_headers(opcode);
    for (const size_t payload : {0U, 1U, 2U, 3U, 4U, 255U, 4096U}) {
      if (payload != 0 && !info.has_payload) continue;
      for (const Flow& flow : {flow_v4(), flow_v6()}) {
        const auto bytes = make_packet(flow, headers, payload);
        EXPECT_EQ(bytes.size() % 4, 0U);
        const auto view = parse({bytes, flow, uint16_t{0}});
        ASSERT_TRUE(view) << drop_reason_name(view.error());
        expect_same_bth(view->headers.bth, headers.bth);
        expect_same_extensions(info.extensions, view->headers, headers);
        ASSERT_EQ(view->payload.size(), payload);
        for (size_t i = 0; i < payload; ++i) {
          ASSERT_EQ(view->payload[i], static_cast<uint8_t>(i + 1));
        }
      }
    }
  }
}

TEST(RocePacket, EveryBthFlagIsItsOwn) {
  struct Flag {
    bool Bth::*field;
    size_t byte;
    uint8_t mask;
  };
  for (const Flag& flag : {Flag{&Bth::solicited, 1, 0x80},
                           {&Bth::mig_req, 1, 0x40},
                           {&Bth::fecn, 4, 0x80},
                           {&Bth::becn, 4, 0x40},
                           {&Bth::ack_req, 8, 0x80}}) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
    headers.bth.mig_req = false;
    headers.bth.*flag.field = true;
    const auto bytes = make_packet(flow_v4(), headers, 0);
    for (const size_t at : {1U, 4U, 8U}) EXPECT_EQ(bytes[at], at == flag.byte ? flag.mask : 0);
    const auto view = parse_v4(bytes);
    ASSERT_TRUE(view);
    expect_same_bth(view->headers.bth, headers.bth);
  }
}

// The layout on the wire, written out for the headers that no capture has.
TEST(RocePacket, XrcWriteWithImmediateOnTheWire) {
  const auto bytes =
      make_packet(flow_v4(), full_headers(Opcode(Service::kXrc, Operation::kWriteOnlyImm)), 1);
  const std::vector<uint8_t> expected = {
      0xab, 0xb0, 0x81, 0x23, 0x80, 0x87, 0x65, 0x43, 0x80, 0xfe, 0xdc, 0xba,  // BTH, pad 3
      0x00, 0xf1, 0xe2, 0xd3,                                                  // XRCETH
      0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x9a, 0xbc, 0xde, 0xf0,  // RETH
      0x80, 0x00, 0x00, 0x01, 0xd1, 0xd2, 0xd3, 0xd4,                          // RETH, ImmDt
      0x01, 0x00, 0x00, 0x00};
  ASSERT_EQ(bytes.size(), expected.size() + 4);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end() - 4), expected);
}

TEST(RocePacket, XrcCompareSwapOnTheWire) {
  const auto bytes =
      make_packet(flow_v4(), full_headers(Opcode(Service::kXrc, Operation::kCompareSwap)), 0);
  const std::vector<uint8_t> expected = {
      0xb3, 0x80, 0x81, 0x23, 0x80, 0x87, 0x65, 0x43, 0x80, 0xfe, 0xdc, 0xba,  // BTH
      0x00, 0xf1, 0xe2, 0xd3,                                                  // XRCETH
      0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87, 0x89, 0xab, 0xcd, 0xef,  // va, rkey
      0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8,                          // swap
      0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8};                         // compare
  ASSERT_EQ(bytes.size(), expected.size() + 4);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end() - 4), expected);
}

// Annex A19: the FETH lies between XRCETH and RETH.
TEST(RocePacket, XrcFlushOnTheWire) {
  const auto bytes =
      make_packet(flow_v4(), full_headers(Opcode(Service::kXrc, Operation::kFlush)), 0);
  const std::vector<uint8_t> expected = {
      0xbc, 0x80, 0x81, 0x23, 0x80, 0x87, 0x65, 0x43, 0x80, 0xfe, 0xdc, 0xba,  // BTH
      0x00, 0xf1, 0xe2, 0xd3, 0x00, 0x00, 0x00, 0x29,                          // XRCETH, FETH
      0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x9a, 0xbc, 0xde, 0xf0,  // RETH
      0x80, 0x00, 0x00, 0x01};
  ASSERT_EQ(bytes.size(), expected.size() + 4);
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end() - 4), expected);
}

TEST(RocePacket, ReservedBitsOfAFethAreIgnored) {
  auto bytes = make_packet(flow_v4(), full_headers(Opcode(Service::kRc, Operation::kFlush)), 0);
  bytes[12] = bytes[13] = bytes[14] = 0xff;
  bytes[15] |= 0xc0;
  test::reseal(bytes, flow_v4());
  const auto view = parse_v4(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->headers.feth.placement, 9);
  EXPECT_EQ(view->headers.feth.selectivity, 2);
}

TEST(RocePacket, EveryTruncatedLengthIsRejected) {
  for (const Opcode opcode : known_opcodes()) {
    const OpcodeInfo& info = opcode_info(opcode);
    SCOPED_TRACE(info.name);
    const auto whole = make_packet(flow_v4(), full_headers(opcode), info.has_payload ? 3 : 0);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::vector<uint8_t> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      // As it arrives: the last bytes are no ICRC.
      EXPECT_EQ(reason(bytes), size < 16 ? DropReason::kTruncated : DropReason::kBadIcrc);
      if (size < 16) continue;
      // With an ICRC made for it: the headers must fit, then the padding must.
      test::reseal(bytes, flow_v4());
      const bool headers_fit = size >= info.header_bytes + 4U;
      EXPECT_EQ(reason(bytes), headers_fit ? DropReason::kBadPadding : DropReason::kTruncated);
    }
  }
}

TEST(RocePacket, EveryFlippedBitIsRejectedUnlessMasked) {
  for (const unsigned value : {0x04U, 0x0bU, 0x11U, 0x65U, 0xb3U}) {
    const Opcode opcode(static_cast<uint8_t>(value));
    const bool payload = opcode_info(opcode).has_payload;
    for (const Flow& flow : {flow_v4(), flow_v6()}) {
      auto bytes = make_packet(flow, full_headers(opcode), payload ? 21 : 0);
      for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
        const auto view = parse({bytes, flow, uint16_t{0}});
        const auto recovered = parse({bytes, flow, std::nullopt});
        const bool masked = bit / 8 == 4;
        EXPECT_EQ(view.has_value(), masked) << "bit " << bit;
        EXPECT_EQ(recovered.has_value(), masked) << "bit " << bit;
        if (!view) {
          EXPECT_EQ(view.error(), DropReason::kBadIcrc);
        }
        bytes[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
      }
    }
  }
}

TEST(RocePacket, EachDropReason) {
  const auto send = make_packet(flow_v4(), full_headers(Opcode(0x04)), 5);
  const auto ack = make_packet(flow_v4(), full_headers(Opcode(0x11)), 0);
  const auto add_word = [](std::vector<uint8_t>& b) { b.insert(b.end() - 4, 4, 0); };
  EXPECT_EQ(reason({}), DropReason::kTruncated);
  EXPECT_EQ(reason(std::vector<uint8_t>(15)), DropReason::kTruncated);
  EXPECT_EQ(reason(std::vector<uint8_t>(16)), DropReason::kBadIcrc);
  EXPECT_EQ(reason_after(send, [](auto& b) { b[1] |= 1; }), DropReason::kTransportVersion);
  EXPECT_EQ(reason_after(send, [](auto& b) { b[0] = 0x1f; }), DropReason::kUnknownOpcode);
  EXPECT_EQ(reason_after(send, [](auto& b) { b[0] = 0x0b; }), DropReason::kTruncated);
  EXPECT_EQ(reason_after(send, [](auto& b) { b.pop_back(); }), DropReason::kBadPadding);
  EXPECT_EQ(reason_after(ack, [](auto& b) { b[1] |= 0x10; }), DropReason::kBadPadding);
  EXPECT_EQ(reason_after(ack, add_word), DropReason::kUnexpectedPayload);
  const auto largest = make_packet(flow_v4(), full_headers(Opcode(0x04)), 4096);
  EXPECT_EQ(reason(largest), DropReason::kCount);
  EXPECT_EQ(reason_after(largest, add_word), DropReason::kPayloadSize);
  EXPECT_EQ(reason(std::vector<uint8_t>(65507)), DropReason::kPayloadSize);
}

TEST(RocePacket, ReservedBitsAreIgnored) {
  auto bytes = make_packet(flow_v4(), full_headers(Opcode(0x64)), 8);
  bytes[4] |= 0x3f;
  bytes[8] |= 0x7f;
  bytes[16] = 0xff;  // DETH, before the source queue pair
  test::reseal(bytes, flow_v4());
  const auto view = parse_v4(bytes);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->headers.bth.psn, Psn(0xfedcba));
  EXPECT_EQ(view->headers.deth.source_qp, Qpn(0x9a8b7c));
}

TEST(RocePacket, PadIsNotPartOfThePayload) {
  for (size_t payload = 0; payload < 9; ++payload) {
    const auto bytes = make_packet(flow_v4(), full_headers(Opcode(0x04)), payload);
    EXPECT_EQ(bytes.size(), packet_size(Opcode(0x04), payload));
    EXPECT_EQ((bytes[1] >> 4) & 3, static_cast<int>((4 - payload % 4) % 4));
  }
}

TEST(RocePacket, UnknownIdentificationIsFound) {
  const auto bytes = make_packet(flow_v4(), full_headers(Opcode(0x04)), 5, 0xbeef);
  EXPECT_TRUE(parse({bytes, flow_v4(), std::nullopt}));
  EXPECT_TRUE(parse({bytes, flow_v4(), uint16_t{0xbeef}}));
  EXPECT_FALSE(parse({bytes, flow_v4(), uint16_t{0}}));
}

TEST(RocePacket, SegmentsOfADatagramAreGuessedToCountFromZero) {
  const std::vector<uint8_t> bytes(250);
  PacketRun run{flow_v4(), 100, bytes};
  std::vector<RxPacket> packets;
  run.append_to(packets);
  ASSERT_EQ(packets.size(), 3U);
  for (uint16_t i = 0; i < 3; ++i) {
    EXPECT_EQ(packets[i].ipv4_identification, std::nullopt);
    EXPECT_EQ(packets[i].likely_identification, i);
  }
  EXPECT_EQ(packets[2].bytes.size(), 50U);
  run.is_start = false;
  EXPECT_EQ(run.likely_identification(200), 0) << "of another part nothing is known";
}

TEST(RocePacket, DropReasonsHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (unsigned i = 0; i < static_cast<unsigned>(DropReason::kCount); ++i) {
    names.emplace(drop_reason_name(static_cast<DropReason>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(DropReason::kCount));
  EXPECT_EQ(names.count(""), 0U);
  EXPECT_EQ(drop_reason_name(DropReason::kTruncated), "truncated");
  EXPECT_EQ(drop_reason_name(DropReason::kBadIcrc), "bad_icrc");
  EXPECT_EQ(drop_reason_name(DropReason::kNoReceive), "no_receive");
  EXPECT_EQ(drop_reason_name(DropReason::kNotOwner), "not_owner");
}

std::string line(uint8_t opcode, uint8_t syndrome, size_t payload) {
  PacketView view;
  view.headers.bth.opcode = Opcode(opcode);
  view.headers.bth.dest_qp = Qpn(0x11);
  view.headers.bth.psn = Psn(5);
  view.headers.aeth = {syndrome, Msn(7)};
  const uint8_t immediate[4] = {0, 0, 0x12, 0x34};
  std::memcpy(&view.headers.immediate_be, immediate, 4);
  static constexpr uint8_t kBytes[64] = {};
  view.payload = {kBytes, payload};
  return format(view);
}

TEST(Format, OneLineAPacket) {
  EXPECT_EQ(line(0x04, 0, 64), "RC SEND Only qp 0x11 psn 5 len 64");
  EXPECT_EQ(line(0x05, 0, 0), "RC SEND Only Immediate qp 0x11 psn 5 imm 0x1234 len 0");
  EXPECT_EQ(line(0x11, 0x1f, 0), "RC ACK qp 0x11 psn 5 msn 7");
  EXPECT_EQ(line(0x11, 0x05, 0), "RC ACK qp 0x11 psn 5 credits 6 msn 7");
  EXPECT_EQ(line(0x11, 0x34, 0), "RC ACK qp 0x11 psn 5 rnr_nak 10240us msn 7");
  EXPECT_EQ(line(0x11, 0x60, 0), "RC ACK qp 0x11 psn 5 nak \"psn sequence error\" msn 7");
  EXPECT_EQ(line(0xff, 0, 0), "opcode 0xff qp 0x11 psn 5");
}

TEST(Format, FlushSaysWhatItPlacesAndWhere) {
  PacketView view;
  view.headers.bth.opcode = Opcode(Service::kRc, Operation::kFlush);
  view.headers.bth.psn = Psn(5);
  const auto flush = [&](uint8_t placement, uint8_t selectivity) {
    view.headers.feth = {placement, selectivity};
    const std::string text = format(view);
    return text.substr(text.find("placement"));
  };
  EXPECT_EQ(flush(1, 0), "placement global of a range va 0x0 rkey 0x0 dma 0");
  EXPECT_EQ(flush(3, 1), "placement global persistent of the region va 0x0 rkey 0x0 dma 0");
  EXPECT_EQ(flush(0, 2), "placement none level 2 va 0x0 rkey 0x0 dma 0");
  EXPECT_EQ(flush(9, 3), "placement global 0x8 level 3 va 0x0 rkey 0x0 dma 0");
}

}  // namespace
}  // namespace urxe
