// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/cm/mad_agent.h"

#include "packet/base/bytes.h"

namespace urxe {
namespace {

/// Behind the RMPP header and a reserved byte (IBTA vol. 1, 16.5.1).
constexpr size_t kOuiAt = 37;
constexpr uint8_t kBoardManagementClass = 0x05;
constexpr uint32_t kBoardManagementResponse = 1;
constexpr uint8_t kMethodTrapRepress = 0x07;
constexpr uint64_t kNobodysServices = uint64_t{0xff} << 56;

}  // namespace

MadAgentKey agent_key_of(MadView mad) {
  const MadHeader header = read_mad_header(mad);
  const bool of_vendor = has_oui(header.management_class);
  return {header.management_class, header.class_version,
          of_vendor ? load_be24(mad.data() + kOuiAt) : 0};
}

bool is_response(const MadHeader& header) {
  if ((header.method & kMadMethodResponse) != 0) return true;
  if (header.method == kMethodTrapRepress) return true;
  return header.management_class == kBoardManagementClass &&
         (header.attribute_modifier & kBoardManagementResponse) != 0;
}

ServiceId agent_service(const MadAgentKey& key) {
  return ServiceId(kNobodysServices | uint64_t{key.management_class} << 40 |
                   uint64_t{key.class_version} << 32 | key.oui);
}

MadRoute agent_route_of(MadView mad) {
  const MadHeader header = read_mad_header(mad);
  if (is_response(header)) return ToCommunication{CommId(transaction_owner(header.transaction_id))};
  return ToService{agent_service(agent_key_of(mad))};
}

}  // namespace urxe
