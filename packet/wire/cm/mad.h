// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/wire/types.h"

namespace urxe {

inline constexpr size_t kMadBytes = 256;
inline constexpr size_t kMadHeaderBytes = 24;
inline constexpr Qpn kGsiQpn{1};              ///< QP1, the general services interface
inline constexpr QKey kGsiQKey{0x80010000U};  ///< of QP1, both ways (IBTA vol. 1, 3.5.3)

using MadBytes = std::array<uint8_t, kMadBytes>;
using MadView = std::span<const uint8_t, kMadBytes>;

inline constexpr uint8_t kMadBaseVersion = 1;
inline constexpr uint8_t kCmClass = 0x07;  ///< communication management
inline constexpr uint8_t kCmClassVersion = 2;
inline constexpr uint8_t kMadMethodSend = 0x03;
inline constexpr uint8_t kMadMethodResponse = 0x80;  ///< a bit of the method

/// The common MAD header, 24 bytes (IBTA vol. 1, 13.4.3), host byte order.
struct MadHeader {
  uint8_t base_version = kMadBaseVersion;
  uint8_t management_class = kCmClass;
  uint8_t class_version = kCmClassVersion;
  uint8_t method = kMadMethodSend;  ///< the response bit included
  uint16_t status = 0;
  uint16_t class_specific = 0;
  uint64_t transaction_id = 0;
  uint16_t attribute_id = 0;
  uint32_t attribute_modifier = 0;

  friend bool operator==(const MadHeader&, const MadHeader&) = default;
};

MadHeader read_mad_header(MadView mad);
/// Writes the first 24 bytes of `mad`.
void write_mad_header(const MadHeader& header, MadBytes& mad);

/// Why a MAD to QP1 was dropped. One counter each.
enum class MadDropReason : uint8_t {
  kLength,            ///< not 256 bytes
  kVersion,           ///< base or class version
  kClass,             ///< not communication management, and no agent has the class
  kMethod,            ///< not Send; or no agent takes the method
  kUnknownAttribute,  ///< not a message that urxe knows
  kMalformed,         ///< a field has a value that it cannot have
  // found by the connection manager, or the table of agents
  kUnknownId,   ///< for a communication or transaction that does not exist, and no reply is due
  kWrongPeer,   ///< from another peer than the communication's: forged or long out of date
  kWrongState,  ///< unexpected, and not a duplicate that needs a reply
  kNoRoom,      ///< a bound was reached
  kOverQuota,   ///< its source's share was used up; or an answer was not sent for that reason
  kCount,
};
const char* mad_drop_reason_name(MadDropReason reason);  ///< "wrong_peer"

}  // namespace urxe
