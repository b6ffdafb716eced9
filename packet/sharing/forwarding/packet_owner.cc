// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/forwarding/packet_owner.h"

#include <variant>

#include "packet/base/bytes.h"
#include "packet/wire/cm/cm_message.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/cm/mad_agent.h"
#include "packet/wire/icrc.h"
#include "packet/wire/opcode.h"

namespace urxe {
namespace {

// Of a UD SEND Only: BTH and DETH before the MAD, the ICRC after it.
constexpr size_t kMadAt = 20;

static_assert(1U << kCommIdPrefixBits == kSlots, "a communication id names the slot, too");

bool is_for_agent(MadView mad) {
  const MadHeader header = read_mad_header(mad);
  return header.base_version == kMadBaseVersion && header.management_class != kCmClass;
}

}  // namespace

uint32_t owner_slot(std::span<const uint8_t> packet, uint32_t own) {
  if (packet.size() < 8) return own;
  const Qpn qpn(load_be24(packet.data() + 5));
  if (qpn == kGsiQpn) return kGsiOwner;
  return qpn.value() == kMulticastQpn ? own : slot_of(qpn);
}

GsiOwner gsi_owner(std::span<const uint8_t> packet) {
  using Kind = GsiOwner::Kind;
  const Opcode opcode(packet.empty() ? uint8_t{0} : packet[0]);
  if (opcode != Opcode(Service::kUd, Operation::kSendOnly)) return {};
  if (packet.size() < kMadAt + kMadBytes + kIcrcBytes) return {};
  const MadView mad = packet.subspan(kMadAt).first<kMadBytes>();
  const bool for_agent = is_for_agent(mad);
  const MadRoute route = for_agent ? agent_route_of(mad) : route_of(mad);
  if (const auto* service = std::get_if<ToService>(&route)) {
    return {for_agent ? Kind::kAgent : Kind::kService, service->service_id.value()};
  }
  if (const auto* communication = std::get_if<ToCommunication>(&route)) {
    return {Kind::kSlot, communication->id.value() >> kCommIdIndexBits};
  }
  return {Kind::kEveryone};
}

}  // namespace urxe
