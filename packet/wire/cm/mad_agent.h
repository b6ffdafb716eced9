// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <compare>
#include <cstdint>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/cm/mad.h"

namespace urxe {

// Management classes other than the communication manager's, whose MADs go to agents of programs
// (umad(7), IBTA vol. 1, 13.4).

/// What the requests for an agent have in common. A vendor class from 0x30 to 0x4f is shared by
/// vendors, which their OUI tells apart.
struct MadAgentKey {
  uint8_t management_class = 0;
  uint8_t class_version = 0;
  uint32_t oui = 0;  ///< 24 bits; 0 for other classes

  friend auto operator<=>(const MadAgentKey&, const MadAgentKey&) = default;
};

constexpr bool has_oui(uint8_t management_class) {
  return management_class >= 0x30 && management_class <= 0x4f;
}
/// Of a request.
MadAgentKey agent_key_of(MadView mad);
/// Whether the MAD ends a transaction: it goes to the agent that has begun it.
bool is_response(const MadHeader& header);

/// The upper half of a transaction id has the layout of a communication id: the prefix tells the
/// process.
constexpr uint32_t transaction_owner(uint64_t transaction_id) {
  return static_cast<uint32_t>(transaction_id >> 32);
}

/// The service id under which a process is known that has an agent: one that no authority gives out
/// (annex A3).
ServiceId agent_service(const MadAgentKey& key);

/// The route of a MAD of a class other than the communication manager's.
MadRoute agent_route_of(MadView mad);

}  // namespace urxe
