// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/base/strong_int.h"

namespace urxe {

// Identifiers and numbers that the messages of the communication manager carry (IBTA vol. 1,
// chapter 12).

/// A communication id: names one end of a connection; 0 names none.
using CommId = StrongInt<struct CommIdTag, uint32_t>;
/// In ids that urxe gives out, the upper bits are the slot of the process that did so.
inline constexpr unsigned kCommIdIndexBits = 23;
inline constexpr unsigned kCommIdPrefixBits = 32 - kCommIdIndexBits;
using ServiceId = StrongInt<struct ServiceIdTag, uint64_t>;

enum class CmAttribute : uint16_t {
  kReq = 0x10,
  kMra = 0x11,
  kRej = 0x12,
  kRep = 0x13,
  kRtu = 0x14,
  kDreq = 0x15,
  kDrep = 0x16,
  kSidrReq = 0x17,
  kSidrRep = 0x18,
  kLap = 0x19,
  kApr = 0x1a,
};
inline constexpr size_t kCmAttributes = 11;
const char* cm_attribute_name(CmAttribute attribute);  ///< "SIDR_REQ"

/// Transport service type of a REQ, 12.7.13.
enum class CmTransport : uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

/// Which message an MRA or a REJ is about; the fourth value of the two bits is reserved.
enum class CmAnswered : uint8_t { kReq = 0, kRep = 1, kOther = 2 };

/// 12.6.7.2. Any other number is possible in a message that was parsed.
enum class CmRejectReason : uint16_t {
  kNoQp = 1,
  kNoEec = 2,
  kNoResources = 3,
  kTimeout = 4,
  kUnsupported = 5,
  kInvalidCommId = 6,
  kInvalidCommInstance = 7,
  kInvalidServiceId = 8,
  kInvalidTransportType = 9,
  kStaleConnection = 10,
  kRdcNotExist = 11,
  kInvalidGid = 12,
  kInvalidLid = 13,
  kInvalidSl = 14,
  kInvalidTrafficClass = 15,
  kInvalidHopLimit = 16,
  kInvalidPacketRate = 17,
  kInvalidAlternateGid = 18,
  kInvalidAlternateLid = 19,
  kInvalidAlternateSl = 20,
  kInvalidAlternateTrafficClass = 21,
  kInvalidAlternateHopLimit = 22,
  kInvalidAlternatePacketRate = 23,
  kPortCmRedirect = 24,
  kPortRedirect = 25,
  kInvalidMtu = 26,
  kInsufficientResponderResources = 27,
  kConsumer = 28,
  kInvalidRnrRetry = 29,
  kDuplicateLocalCommId = 30,
  kInvalidClassVersion = 31,
  kInvalidFlowLabel = 32,
  kInvalidAlternateFlowLabel = 33,
  kVendorOptionNotSupported = 35,
};

/// The answer in a REP to an alternate path in the REQ (12.6.8).
inline constexpr uint8_t kFailoverNotSupported = 1;

/// 12.8.2. Any other number is possible in a message that was parsed.
enum class CmAprStatus : uint8_t {
  kSuccess = 0,
  kInvalidCommId = 1,
  kUnsupported = 2,
  kReject = 3,
  kRedirect = 4,
  kIsCurrent = 5,
  kInvalidQpn = 6,
  kInvalidLid = 7,
  kInvalidGid = 8,
  kInvalidFlowLabel = 9,
  kInvalidTrafficClass = 10,
  kInvalidHopLimit = 11,
  kInvalidPacketRate = 12,
  kInvalidSl = 13,
};

/// 12.11.2. Any other number is possible in a message that was parsed.
enum class CmSidrStatus : uint8_t {
  kSuccess = 0,
  kUnsupported = 1,
  kReject = 2,
  kNoQp = 3,
  kRedirect = 4,
  kUnsupportedVersion = 5,
};

}  // namespace urxe
