// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/packet_rules.h"

#include <fmt/format.h>

#include <utility>

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/cm/mad.h"

namespace urxe::analyze {
namespace {

constexpr size_t kSmallestMtu = 256;
constexpr size_t kLargestMtu = 4096;
constexpr uint32_t kLongestMessage = 0x80000000;

bool may_be_solicited(const OpcodeInfo& info, Operation operation) {
  const bool write = operation >= Operation::kWriteFirst && operation <= Operation::kWriteOnlyImm;
  const bool response_or_read = !info.has_payload || !info.is_request;
  if (response_or_read || !info.ends_message || operation == Operation::kAtomicWrite) return false;
  return !write || has(info.extensions, Ext::kImmDt);
}

bool is_reserved(uint8_t syndrome) {
  const AckKind kind = ack_kind(syndrome);
  const auto last_code = static_cast<uint8_t>(NakCode::kInvalidRdRequest);
  return kind == AckKind::kReserved ||
         (kind == AckKind::kNak && syndrome_value(syndrome) > last_code);
}

/// First and Middle packets: of a message or of a READ's response.
bool goes_on(Opcode opcode, const OpcodeInfo& info) {
  return info.has_payload && !info.ends_message && opcode != kCnpOpcode;
}

}  // namespace

bool is_path_mtu(size_t bytes) {
  return bytes >= kSmallestMtu && bytes <= kLargestMtu && (bytes & (bytes - 1)) == 0;
}

Violation make_violation(const CapturedPacket& packet, Rule rule, std::string detail) {
  return {packet.frame,
          rule,
          packet.flow.source,
          packet.flow.destination,
          packet.view.headers.bth.dest_qp,
          std::move(detail)};
}

void check_packet(const CapturedPacket& packet, ViolationLog& log) {
  const Headers& headers = packet.view.headers;
  const Opcode opcode = headers.bth.opcode;
  const OpcodeInfo& info = opcode_info(opcode);
  const size_t payload = packet.view.payload.size();
  const auto report = [&](Rule rule, std::string detail = {}) {
    log.add(make_violation(packet, rule, std::move(detail)));
  };
  if (partition_of(headers.bth.pkey) == 0) report(Rule::kInvalidPKey);
  if (opcode == kCnpOpcode) {
    constexpr size_t kCnpBytes = 16;
    if (payload != kCnpBytes) report(Rule::kCnpFormat, fmt::format("{} bytes", payload));
    return;
  }
  if (headers.bth.solicited && !may_be_solicited(info, opcode.operation())) {
    report(Rule::kSolicited, std::string(info.name));
  }
  if (goes_on(opcode, info) && !is_path_mtu(payload)) {
    report(Rule::kNotPathMtu, fmt::format("payload {}", payload));
  }
  const bool last = info.has_payload && info.ends_message && !info.starts_message;
  if (last && payload == 0) report(Rule::kLastPacketSize, "payload 0");
  if (has_kept(packet, Ext::kReth) && headers.reth.dma_length > kLongestMessage) {
    report(Rule::kMessageTooLong, fmt::format("{} bytes", headers.reth.dma_length));
  }
  if (has_kept(packet, Ext::kAeth) && is_reserved(headers.aeth.syndrome)) {
    report(Rule::kReservedSyndrome, fmt::format("syndrome {:#04x}", headers.aeth.syndrome));
  }
  const bool gsi = opcode.service() == Service::kUd && headers.bth.dest_qp == kGsiQpn;
  if (gsi && has_kept(packet, Ext::kDeth) && headers.deth.qkey != kGsiQKey) {
    report(Rule::kGsiQKey, fmt::format("Q_Key {:#010x}", headers.deth.qkey.value()));
  }
}

std::optional<Rule> rule_of_drop(DropReason reason, Opcode opcode) {
  switch (reason) {
    case DropReason::kTransportVersion:
      return Rule::kTransportVersion;
    case DropReason::kBadPadding:
      return Rule::kPadding;
    case DropReason::kUnexpectedPayload:
      return Rule::kUnexpectedPayload;
    case DropReason::kUnknownOpcode: {
      // Reliable datagrams did exist; the rest is the manufacturers'.
      const bool connected = opcode.service() == Service::kRc || opcode.service() == Service::kUc;
      if (connected) return Rule::kReservedOpcode;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace urxe::analyze
