// SPDX-License-Identifier: BSD-2-Clause
#include "tests/interop/replay/packet_comparison.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "packet/wire/aeth_syndrome.h"
#include "tests/interop/replay/operation.h"

namespace urxe::replay {
namespace {

constexpr size_t kBthBytes = 12;
constexpr size_t kIcrcBytes = 4;

class Comparison {
 public:
  Comparison(const Frame& ours, const Frame& recorded, Ledger& ledger)
      : a_(ours), b_(recorded), ledger_(ledger) {}

  void run() {
    compare_ip();
    compare_bth();
    if (is_resumed_form(a_.operation(), b_.operation())) {
      note(Difference::kResumedRead);
      expect(std::ranges::equal(a_.view.payload, b_.view.payload), "payload");
      return;
    }
    expect(a_.operation() == b_.operation(), "opcode");
    compare_aeth();
    compare_extensions();
    expect(std::ranges::equal(a_.view.payload, b_.view.payload), "payload");
    expect(std::ranges::equal(comparable_bytes(a_), comparable_bytes(b_)), "bytes");
  }

 private:
  [[nodiscard]] std::string where() const {
    return "ours " + describe(a_) + "\n    recorded " + describe(b_);
  }
  void note(Difference difference) { ledger_.note(difference, where()); }
  void expect(bool agrees, const char* field) {
    if (!agrees) ledger_.error(std::string(field) + " differs: " + where());
  }

  void compare_ip() {
    const Flow& ours = a_.packet.flow;
    const Flow& recorded = b_.packet.flow;
    expect(ours.source == recorded.source, "source address");
    expect(ours.destination == recorded.destination, "destination address");
    expect(ours.traffic_class == recorded.traffic_class, "traffic class");
    expect(ours.hop_limit == recorded.hop_limit, "hop limit");
    expect(ours.source_port >= kFirstSourcePort, "source port range");
    if (ours.source_port != recorded.source_port) note(Difference::kSourcePort);
  }

  void compare_bth() {
    const Bth& ours = a_.headers().bth;
    const Bth& recorded = b_.headers().bth;
    expect(ours.solicited == recorded.solicited, "solicited event");
    expect(ours.pkey == recorded.pkey, "P_Key");
    expect(ours.dest_qp == recorded.dest_qp, "destination QP");
    expect(ours.psn == recorded.psn, "PSN");
    expect(ours.fecn == recorded.fecn && ours.becn == recorded.becn, "FECN or BECN");
    expect(ours.mig_req, "MigReq of ours");
    if (!recorded.mig_req) note(Difference::kMigReq);
    if (ours.ack_req != recorded.ack_req) ack_req_differs();
  }

  /// Where a message ends an RC requester asks in any case.
  void ack_req_differs() {
    const bool may_differ =
        a_.service() == Service::kRc && a_.info().is_request && !a_.info().ends_message;
    may_differ ? note(Difference::kAckReq) : expect(false, "AckReq");
  }

  void compare_aeth() {
    if (!has(a_.info().extensions, Ext::kAeth)) return;
    const Aeth& ours = a_.headers().aeth;
    const Aeth& recorded = b_.headers().aeth;
    if (ours.msn != recorded.msn) msn_differs();
    expect(ack_kind(ours.syndrome) == ack_kind(recorded.syndrome), "kind of AETH syndrome");
    if (ours.syndrome == recorded.syndrome) return;
    if (ack_kind(ours.syndrome) == AckKind::kAck) return note(Difference::kCredits);
    const bool is_short_receive =
        ours.syndrome == nak_syndrome(NakCode::kInvalidRequest) &&
        recorded.syndrome == nak_syndrome(NakCode::kRemoteOperationalError);
    is_short_receive ? note(Difference::kShortReceiveNak) : expect(false, "AETH syndrome");
  }

  /// Ours may tell of messages that the recorded answer, to a duplicate, left untold.
  void msn_differs() {
    const Msn ours = a_.headers().aeth.msn;
    const Msn recorded = b_.headers().aeth.msn;
    const bool later = is_data_response(a_.operation()) && ours.is_after(recorded);
    later ? note(Difference::kDuplicateMsn) : expect(false, "MSN");
  }

  void compare_extensions() {
    const Ext extensions = b_.info().extensions;
    const Headers& ours = a_.headers();
    const Headers& recorded = b_.headers();
    if (has(extensions, Ext::kReth)) compare_reth(ours.reth, recorded.reth);
    if (has(extensions, Ext::kAtomicEth)) compare_atomic(ours.atomic, recorded.atomic);
    if (has(extensions, Ext::kAtomicAckEth)) {
      expect(ours.atomic_original == recorded.atomic_original, "atomic's original value");
    }
    if (has(extensions, Ext::kImmDt)) {
      expect(ours.immediate_be == recorded.immediate_be, "immediate data");
    }
    if (has(extensions, Ext::kIeth)) expect(ours.invalidate == recorded.invalidate, "IETH");
    if (has(extensions, Ext::kDeth)) {
      expect(ours.deth.qkey == recorded.deth.qkey, "Q_Key");
      expect(ours.deth.source_qp == recorded.deth.source_qp, "source QP");
    }
  }

  void compare_reth(const Reth& ours, const Reth& recorded) {
    expect(ours.va == recorded.va, "RETH address");
    expect(ours.rkey == recorded.rkey, "RETH key");
    expect(ours.dma_length == recorded.dma_length, "RETH length");
  }

  void compare_atomic(const AtomicEth& ours, const AtomicEth& recorded) {
    expect(ours.va == recorded.va, "AtomicETH address");
    expect(ours.rkey == recorded.rkey, "AtomicETH key");
    expect(ours.swap_or_add == recorded.swap_or_add, "AtomicETH swap or add");
    expect(ours.compare == recorded.compare, "AtomicETH compare");
  }

  /// All but the ICRC, with what has been judged by itself blanked out: MigReq, AckReq, AETH.
  static std::vector<uint8_t> comparable_bytes(const Frame& frame) {
    constexpr uint8_t kMigReqBit = 0x40;
    constexpr uint8_t kAckReqBit = 0x80;
    const auto packet = frame.packet.bytes;
    std::vector<uint8_t> bytes(packet.begin(), packet.end() - kIcrcBytes);
    bytes[1] |= kMigReqBit;
    bytes[8] |= kAckReqBit;
    constexpr size_t kAethBytes = 4;
    if (has(frame.info().extensions, Ext::kAeth)) {
      std::fill_n(bytes.begin() + kBthBytes, kAethBytes, uint8_t{0});
    }
    return bytes;
  }

  const Frame& a_;
  const Frame& b_;
  Ledger& ledger_;
};

}  // namespace

void compare_packets(const Frame& ours, const Frame& recorded, Ledger& ledger) {
  Comparison(ours, recorded, ledger).run();
}

}  // namespace urxe::replay
