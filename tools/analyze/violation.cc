// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/violation.h"

#include <utility>

namespace urxe::analyze {
namespace {

constexpr std::array<RuleText, static_cast<size_t>(Rule::kCount)> kRules = {{
    {"transport_version", "the transport header version is 0", "9.2"},
    {"reserved_opcode", "a packet has an opcode that is not reserved", "9.2, table 38"},
    {"padding", "the payload is padded to a multiple of four bytes, and the pad lies in it", "9.2"},
    {"unexpected_payload", "only opcodes that carry payload have some", "9.2, table 38"},
    {"solicited", "only the packet that ends a SEND or a WRITE with immediate is solicited", "9.2"},
    {"invalid_pkey", "the partition of a P_Key is not 0", "10.9"},
    {"pkey_mismatch", "both ends of a connection use the same partition", "10.9.3"},
    {"gsi_qkey", "datagrams to QP1 have the Q_Key 0x80010000", "3.5.3"},
    {"cnp_format", "a congestion notification has 16 bytes behind its BTH", "A17.9.3"},
    {"not_path_mtu", "First and Middle packets carry exactly one path MTU", "9.7.4.1"},
    {"last_packet_size", "a Last packet carries one byte to one path MTU, an Only packet no more",
     "9.7.4.1"},
    {"opcode_sequence", "the packets of a message follow each other: First, Middle, Last",
     "9.7.4.1.2"},
    {"message_length", "the payload of a WRITE has the length that its RETH announces", "9.7.4.1"},
    {"message_too_long", "no message is longer than 2^31 bytes", "9.7"},
    {"reserved_syndrome", "an AETH has a syndrome that is not reserved", "9.7.5"},
    {"msn_backwards", "the MSN does not go back from one response to a later one", "9.7.7"},
    {"read_response_size", "READ responses carry a path MTU each, and the last one the rest",
     "9.7.5.1"},
    {"read_response_opcode", "the last response to a READ is a Last or an Only, and no other is",
     "9.7.5.1"},
    {"response_kind",
     "READs and FLUSHes get READ responses, atomics get ATOMIC ACKs, and nothing else does",
     "9.7.5.1"},
}};

}  // namespace

const RuleText& rule_text(Rule rule) {
  return kRules.at(static_cast<size_t>(rule));
}

void ViolationLog::add(Violation violation) {
  ++total_;
  ++counts_.at(static_cast<size_t>(violation.rule));
  if (kept_.size() < kKept) kept_.push_back(std::move(violation));
}

}  // namespace urxe::analyze
