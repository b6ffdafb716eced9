// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/stage.h"

#include "packet/wire/text/format.h"

namespace urxe::drill {

Comparison Stage::compare(const Statement& statement, const SentPacket& packet) {
  const auto view = parse({packet.bytes, packet.flow, packet.identification});
  if (!view) return Unexpected<std::string>(std::string(drop_reason_name(view.error())));
  return differences(statement, *view, names());
}

std::string Stage::show(const SentPacket& packet) const {
  const auto view = parse({packet.bytes, packet.flow, packet.identification});
  return view ? format(*view) : std::string(drop_reason_name(view.error()));
}

std::string Stage::event_name(uint64_t event) const {
  return ibv_event_type_str(static_cast<ibv_event_type>(event));
}

}  // namespace urxe::drill
