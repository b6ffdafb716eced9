// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/engine_choice.h"

#include <cerrno>

#include "packet/engine/raw/packet_socket.h"

namespace urxe {

Expected<EngineChoice, std::string> parse_engine_choice(std::string_view text) {
  if (text.empty() || text == "auto") return EngineChoice::kAuto;
  if (text == "udp") return EngineChoice::kUdp;
  if (text == "raw") return EngineChoice::kRaw;
  if (text == "dpdk") return EngineChoice::kDpdk;
  return Unexpected<std::string>("there is no engine '" + std::string(text) +
                                 "'; there are udp, raw, dpdk and auto");
}

std::string_view engine_name(EngineKind kind) {
  switch (kind) {
    case EngineKind::kRaw:
      return "raw";
    case EngineKind::kDpdk:
      return "dpdk";
    case EngineKind::kUdp:
      break;
  }
  return "udp";
}

bool has_ethernet_frames(uint32_t ifindex) {
  return is_ethernet(ifindex).value_or(false);
}

Expected<EngineKind, Errno> find_engine(EngineChoice choice, uint32_t ifindex) {
  if (choice == EngineChoice::kDpdk) return EngineKind::kDpdk;
  if (choice != EngineChoice::kRaw) return EngineKind::kUdp;
  const auto has_frames = is_ethernet(ifindex);
  if (!has_frames && has_frames.error().value != ENODEV) {
    return Unexpected<Errno>(has_frames.error());
  }
  return has_frames.value_or(false) ? EngineKind::kRaw : EngineKind::kUdp;
}

EngineKind engine_for(EngineChoice choice, uint32_t ifindex) {
  return find_engine(choice, ifindex).value_or(EngineKind::kUdp);
}

Expected<void, EngineError> check_engine(EngineKind kind) {
  if (kind == EngineKind::kRaw) return check_packet_sockets();
  return {};
}

}  // namespace urxe
