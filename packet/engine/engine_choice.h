// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"

namespace urxe {

/// The engine that the user wants for all devices.
enum class EngineChoice : uint8_t {
  kAuto,  ///< urxe chooses: at present UDP
  kUdp,
  kRaw,
  kDpdk,  ///< the devices are ports of DPDK, not interfaces
};

/// "auto", "udp", "raw", "dpdk"; an empty text is "auto". The error names the word and the accepted
/// ones.
Expected<EngineChoice, std::string> parse_engine_choice(std::string_view text);

/// An engine that a device can have.
enum class EngineKind : uint8_t { kUdp, kRaw, kDpdk };
std::string_view engine_name(EngineKind kind);  ///< "udp"

/// Whether the frames of the network interface are Ethernet's. False if that cannot be known.
bool has_ethernet_frames(uint32_t ifindex);

/// The engine that a device on the network interface gets. Raw needs an Ethernet interface: the
/// devices of others, lo for instance, get UDP.
EngineKind engine_for(EngineChoice choice, uint32_t ifindex);
/// The same, but tells if the kernel could not be asked what the interface is: EMFILE, ENOMEM and
/// the like.
Expected<EngineKind, Errno> find_engine(EngineChoice choice, uint32_t ifindex);

/// Whether this process may use the engine. The error says why not, and what to do about it.
Expected<void, EngineError> check_engine(EngineKind kind);

}  // namespace urxe
