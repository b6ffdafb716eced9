// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace urxe {

/// The transport service in the upper three bits of a BTH opcode (IBTA vol. 1, table 38).
enum class Service : uint8_t { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kCnp = 4, kXrc = 5 };

/// The kind of a packet, in the lower five bits of a BTH opcode; the same for all services.
enum class Operation : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendLastImm = 0x03,
  kSendOnly = 0x04,
  kSendOnlyImm = 0x05,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteLastImm = 0x09,
  kWriteOnly = 0x0a,
  kWriteOnlyImm = 0x0b,
  kReadRequest = 0x0c,
  kReadResponseFirst = 0x0d,
  kReadResponseMiddle = 0x0e,
  kReadResponseLast = 0x0f,
  kReadResponseOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kResync = 0x15,
  kSendLastInvalidate = 0x16,
  kSendOnlyInvalidate = 0x17,
  kFlush = 0x1c,
  kAtomicWrite = 0x1d,
};

/// A whole BTH opcode byte.
struct Opcode {
  uint8_t value = 0;

  constexpr Opcode() = default;
  constexpr explicit Opcode(uint8_t v) : value(v) {}
  constexpr Opcode(Service s, Operation o)
      : value(static_cast<uint8_t>((static_cast<unsigned>(s) << 5) | static_cast<unsigned>(o))) {}

  [[nodiscard]] constexpr Service service() const { return static_cast<Service>(value >> 5); }
  [[nodiscard]] constexpr Operation operation() const {
    return static_cast<Operation>(value & 0x1f);
  }
  friend constexpr bool operator==(Opcode, Opcode) = default;
};

inline constexpr Opcode kCnpOpcode{0x81};

// Manufacturer specific (IBTA vol. 1, table 38); between processes of one host only.
inline constexpr Opcode kDrainQueryOpcode{
    0xc0};  ///< asks whether all packets before it were received
inline constexpr Opcode kDrainAnswerOpcode{0xc1};  ///< they were, up to the PSN of the query

// Manufacturer specific; only to peers that keep what comes behind a gap.
inline constexpr Opcode kGapQueryOpcode{0xc2};  ///< asks for a report of each gap
/// Packets are missing from the PSN on. The payload is their number and the PSN of the last query
/// received, of 32 bits each.
inline constexpr Opcode kGapReportOpcode{0xc3};
inline constexpr size_t kGapReportBytes = 8;

/// Which extension headers follow the BTH; their order on the wire is this order.
enum class Ext : uint16_t {
  kNone = 0,
  kXrceth = 1 << 0,
  kDeth = 1 << 1,
  kFeth = 1 << 2,
  kReth = 1 << 3,
  kAtomicEth = 1 << 4,
  kAeth = 1 << 5,
  kAtomicAckEth = 1 << 6,
  kImmDt = 1 << 7,
  kIeth = 1 << 8,
};
constexpr Ext operator|(Ext a, Ext b) {
  return static_cast<Ext>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(Ext set, Ext one) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(one)) != 0;
}

/// One row of the specification's table of opcodes.
struct OpcodeInfo {
  std::string_view name;        ///< "RC SEND First"; empty: no such opcode
  Ext extensions = Ext::kNone;  ///< headers after the BTH
  uint8_t header_bytes = 0;     ///< BTH and extensions together
  bool is_request = false;      ///< from requester to responder
  bool starts_message = false;  ///< First or Only (a READ request is Only)
  bool ends_message = false;    ///< Last or Only
  bool has_payload = false;     ///< may carry payload
};

/// All rows, by opcode.
extern const std::array<OpcodeInfo, 256> kOpcodeTable;

/// The row of `opcode`; its name is empty if the opcode does not exist.
inline const OpcodeInfo& opcode_info(Opcode opcode) {
  return kOpcodeTable[opcode.value];
}

}  // namespace urxe
