// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/analyze/captured_packet.h"
#include "tools/analyze/violation.h"

namespace urxe::analyze {

/// A violation by `packet`, to be added to a log.
Violation make_violation(const CapturedPacket& packet, Rule rule, std::string detail = {});

/// Whether a path MTU may have this size.
bool is_path_mtu(size_t bytes);

/// Checks what one packet shows by itself.
void check_packet(const CapturedPacket& packet, ViolationLog& log);

/// The rule that a datagram with a right ICRC violates if PacketDecoder::decode() refused it for
/// `reason`; nullopt if none does.
std::optional<Rule> rule_of_drop(DropReason reason, Opcode opcode);

}  // namespace urxe::analyze
