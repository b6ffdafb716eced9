// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "packet/base/expected.h"
#include "packet/base/strong_int.h"
#include "packet/wire/gid.h"
#include "packet/wire/mad.h"
#include "packet/wire/psn.h"
#include "packet/wire/types.h"

namespace urxe {

// The messages of the communication manager as plain values in host byte order (IBTA vol. 1,
// 12.6 and 12.11). Fields of reliable datagrams (EE contexts), but for the one that XRC uses, and
// of LID routing are written as RoCE demands and not kept.

/// A communication id: names one end of a connection; 0 names none.
using CommId = StrongInt<struct CommIdTag, uint32_t>;
/// Ids that we give out: the upper bits tell which of the processes behind one QP1 has done so.
inline constexpr unsigned kCommIdIndexBits = 23;
inline constexpr unsigned kCommIdPrefixBits = 32 - kCommIdIndexBits;
using ServiceId = StrongInt<struct ServiceIdTag, uint64_t>;

/// At most N bytes. On the wire the field always has all N, so a receiver sees N: what the sender
/// has filled in, then zeros.
template <size_t N>
struct CmBytes {
  static constexpr size_t kCapacity = N;
  std::array<uint8_t, N> bytes{};
  uint8_t size = 0;  ///< used by the sender; N in a message that was parsed

  /// What does not fit is cut off.
  void assign(std::span<const uint8_t> from) {
    bytes = {};
    size = static_cast<uint8_t>(std::min(from.size(), N));
    std::copy_n(from.begin(), size, bytes.begin());
  }
  [[nodiscard]] std::span<const uint8_t> view() const { return {bytes.data(), size}; }
};

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

/// Transport service type of a REQ, 12.7.13.
enum class CmTransport : uint8_t { kRc = 0, kUc = 1, kRd = 2, kExtended = 3 };

/// A path as CM messages carry it. `local` and `remote` are as the sender of the message sees them.
struct CmPath {
  Gid local;
  Gid remote;
  uint32_t flow_label = 0;  ///< 20 bits
  uint8_t packet_rate = 0;  ///< 6 bits, encoded as ibv_rate
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint8_t sl = 0;           ///< 4 bits
  uint8_t ack_timeout = 0;  ///< local ACK timeout, 5 bits: 4.096 us * 2^n
};

/// Enhanced connection establishment: in what other versions reserve of REQ, REP and SIDR_REP.
struct CmEce {
  uint32_t vendor_id = 0;  ///< 24 bits; 0: none
  uint32_t attr_mod = 0;   ///< the attribute modifier of the MAD header
};

struct CmReq {
  CommId local_comm_id;
  ServiceId service_id;
  uint64_t local_ca_guid = 0;
  QKey local_qkey;
  Qpn local_qpn;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t remote_cm_response_timeout = 0;  ///< 5 bits: 4.096 us * 2^n
  CmTransport transport = CmTransport::kRc;
  bool flow_control = false;  ///< end to end
  Psn starting_psn;
  uint8_t local_cm_response_timeout = 0;  ///< 5 bits
  uint8_t retry_count = 0;                ///< 3 bits
  PKey pkey = kDefaultPKey;
  uint8_t path_mtu = 0;  ///< 4 bits, encoded as ibv_mtu
  bool rdc_exists = false;
  uint8_t rnr_retry_count = 0;  ///< 3 bits
  uint8_t max_cm_retries = 0;   ///< 4 bits
  bool srq = false;
  uint8_t extended_transport = 0;  ///< 3 bits; 1: XRC
  CmPath primary;
  bool has_alternate = false;  ///< in a message that was parsed: one of its GIDs is not 0
  CmPath alternate;
  CmEce ece;
  CmBytes<92> private_data;
};

/// Which message an MRA or a REJ is about; the fourth value of the two bits is reserved.
enum class CmAnswered : uint8_t { kReq = 0, kRep = 1, kOther = 2 };

struct CmMra {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAnswered answered = CmAnswered::kReq;  ///< kOther: LAP
  uint8_t service_timeout = 0;             ///< 5 bits
  CmBytes<222> private_data;
};

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

struct CmRej {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAnswered rejected = CmAnswered::kReq;
  CmRejectReason reason = CmRejectReason::kConsumer;
  CmBytes<72> additional_info;  ///< its length is a field of the message
  CmBytes<148> private_data;
};

struct CmRep {
  CommId local_comm_id;
  CommId remote_comm_id;
  QKey local_qkey;
  Qpn local_qpn;   ///< 0 for XRC
  Qpn local_eecn;  ///< for XRC the target queue pair's number, else 0
  Psn starting_psn;
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t target_ack_delay = 0;   ///< 5 bits
  uint8_t failover_accepted = 0;  ///< 2 bits
  bool flow_control = false;
  uint8_t rnr_retry_count = 0;  ///< 3 bits
  bool srq = false;
  uint64_t local_ca_guid = 0;
  CmEce ece;
  CmBytes<196> private_data;
};

struct CmRtu {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmBytes<224> private_data;
};

struct CmDreq {
  CommId local_comm_id;
  CommId remote_comm_id;
  Qpn remote_qpn;
  CmBytes<220> private_data;
};

struct CmDrep {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmBytes<224> private_data;
};

struct CmLap {
  CommId local_comm_id;
  CommId remote_comm_id;
  Qpn remote_qpn;
  uint8_t remote_cm_response_timeout = 0;  ///< 5 bits
  CmPath alternate;
  CmBytes<168> private_data;
};

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

struct CmApr {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAprStatus status = CmAprStatus::kSuccess;
  CmBytes<72> additional_info;  ///< its length is a field of the message
  CmBytes<148> private_data;
};

struct CmSidrReq {
  CommId request_id;
  PKey pkey = kDefaultPKey;
  ServiceId service_id;
  CmBytes<216> private_data;
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

struct CmSidrRep {
  CommId request_id;
  CmSidrStatus status = CmSidrStatus::kSuccess;
  Qpn qpn;
  ServiceId service_id;
  QKey qkey;
  CmEce ece;
  CmBytes<72> additional_info;  ///< its length is a field of the message
  CmBytes<136> private_data;
};

using CmBody = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq, CmSidrRep,
                            CmLap, CmApr>;

struct CmMessage {
  uint64_t transaction_id = 0;
  CmBody body;
};
CmAttribute attribute_of(const CmBody& body);

/// Why a MAD to QP1 was dropped. One counter each.
enum class MadDropReason : uint8_t {
  kLength,            ///< not 256 bytes
  kVersion,           ///< base or class version
  kClass,             ///< not communication management
  kMethod,            ///< not Send
  kUnknownAttribute,  ///< no message that we know
  kMalformed,         ///< a field has a value that it cannot have
  // found by the connection manager
  kUnknownId,   ///< for a communication that there is not, and nothing is owed for it
  kWrongPeer,   ///< for a communication with somebody else: forged, or long out of date
  kWrongState,  ///< not expected, and not a duplicate that is to be answered
  kNoRoom,      ///< a bound was reached
  kCount,
};
const char* mad_drop_reason_name(MadDropReason reason);  ///< "wrong_peer"

/// The MAD header of a message of the communication manager, or what is wrong with it.
Expected<MadHeader, MadDropReason> parse_cm_header(std::span<const uint8_t> mad);
/// Total over all inputs: a value that holds only what the fields may hold, or why not.
Expected<CmMessage, MadDropReason> parse_cm_message(std::span<const uint8_t> mad);
/// Never fails: fields are cut to their widths. LIDs are written as RoCE has them (permissive).
MadBytes emit_cm_message(const CmMessage& message);

/// Who of the processes behind one QP1 a MAD is for.
struct ToService {
  ServiceId service_id;  ///< whoever listens for it
};
struct ToCommunication {
  CommId id;  ///< whoever has given that id out
};
struct ToEveryone {};  ///< a REJ that names no communication of the receiver's
using MadRoute = std::variant<ToEveryone, ToService, ToCommunication>;
/// Looks at nothing but what it needs. Total; ToEveryone too where the MAD is no message of the CM.
MadRoute route_of(std::span<const uint8_t> mad);

/// The header that the RDMA IP CM service puts before the private data of REQ and SIDR_REQ
/// (annex A11.8.2), 36 bytes. Network byte order on the wire.
struct IpCmHeader {
  uint8_t ip_version = 4;  ///< 4 or 6
  uint16_t source_port = 0;
  Gid source;  ///< IPv4 as ::ffff:a.b.c.d
  Gid destination;
};
inline constexpr size_t kIpCmHeaderBytes = 36;
/// kMalformed: too short, another version of the header, or of IP.
Expected<IpCmHeader, MadDropReason> parse_ip_cm_header(std::span<const uint8_t> private_data);
std::array<uint8_t, kIpCmHeaderBytes> emit_ip_cm_header(const IpCmHeader& header);

}  // namespace urxe
