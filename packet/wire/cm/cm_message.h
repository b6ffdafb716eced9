// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "packet/base/expected.h"
#include "packet/wire/cm/cm_codes.h"
#include "packet/wire/cm/ip_cm_header.h"
#include "packet/wire/cm/mad.h"
#include "packet/wire/gid.h"
#include "packet/wire/psn.h"
#include "packet/wire/types.h"

namespace urxe {

// The messages of the communication manager as plain values in host byte order (IBTA vol. 1,
// 12.6 and 12.11). Fields of reliable datagrams (EE contexts), except for the one that XRC uses,
// and of LID routing are not kept; they are written as RoCE demands.

/// At most N bytes. The field on the wire always has N bytes, so a receiver sees N: the sender's
/// bytes, then zeros.
template <size_t N>
struct CmBytes {
  static constexpr size_t kCapacity = N;
  std::array<uint8_t, N> bytes{};
  uint8_t size = 0;  ///< used by the sender; N in a message that was parsed

  /// Copies the first N bytes of `from`.
  void assign(std::span<const uint8_t> from) {
    bytes = {};
    size = static_cast<uint8_t>(std::min(from.size(), N));
    std::copy_n(from.begin(), size, bytes.begin());
  }
  [[nodiscard]] std::span<const uint8_t> view() const { return {bytes.data(), size}; }

  friend bool operator==(const CmBytes&, const CmBytes&) = default;
};

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

  friend bool operator==(const CmPath&, const CmPath&) = default;
};

/// Enhanced connection establishment, in fields of REQ, REP and SIDR_REP that used to be reserved.
struct CmEce {
  uint32_t vendor_id = 0;  ///< 24 bits; 0: none
  uint32_t attr_mod = 0;   ///< the attribute modifier of the MAD header

  friend bool operator==(const CmEce&, const CmEce&) = default;
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

  friend bool operator==(const CmReq&, const CmReq&) = default;
};

struct CmMra {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAnswered answered = CmAnswered::kReq;  ///< kOther: LAP
  uint8_t service_timeout = 0;             ///< 5 bits
  CmBytes<222> private_data;

  friend bool operator==(const CmMra&, const CmMra&) = default;
};

struct CmRej {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAnswered rejected = CmAnswered::kReq;
  CmRejectReason reason = CmRejectReason::kConsumer;
  CmBytes<72> additional_info;  ///< its length is a field of the message
  CmBytes<148> private_data;

  friend bool operator==(const CmRej&, const CmRej&) = default;
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
  uint8_t failover_accepted = 0;  ///< 2 bits: 0 the alternate path is accepted, or there is none
  bool flow_control = false;
  uint8_t rnr_retry_count = 0;  ///< 3 bits
  bool srq = false;
  uint64_t local_ca_guid = 0;
  CmEce ece;
  CmBytes<196> private_data;

  friend bool operator==(const CmRep&, const CmRep&) = default;
};

struct CmRtu {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmBytes<224> private_data;

  friend bool operator==(const CmRtu&, const CmRtu&) = default;
};

struct CmDreq {
  CommId local_comm_id;
  CommId remote_comm_id;
  Qpn remote_qpn;
  CmBytes<220> private_data;

  friend bool operator==(const CmDreq&, const CmDreq&) = default;
};

struct CmDrep {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmBytes<224> private_data;

  friend bool operator==(const CmDrep&, const CmDrep&) = default;
};

struct CmLap {
  CommId local_comm_id;
  CommId remote_comm_id;
  Qpn remote_qpn;
  uint8_t remote_cm_response_timeout = 0;  ///< 5 bits
  CmPath alternate;
  CmBytes<168> private_data;

  friend bool operator==(const CmLap&, const CmLap&) = default;
};

struct CmApr {
  CommId local_comm_id;
  CommId remote_comm_id;
  CmAprStatus status = CmAprStatus::kSuccess;
  CmBytes<72> additional_info;  ///< its length is a field of the message
  CmBytes<148> private_data;

  friend bool operator==(const CmApr&, const CmApr&) = default;
};

struct CmSidrReq {
  CommId request_id;
  PKey pkey = kDefaultPKey;
  ServiceId service_id;
  CmBytes<216> private_data;

  friend bool operator==(const CmSidrReq&, const CmSidrReq&) = default;
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

  friend bool operator==(const CmSidrRep&, const CmSidrRep&) = default;
};

using CmBody = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep, CmSidrReq, CmSidrRep,
                            CmLap, CmApr>;

struct CmMessage {
  uint64_t transaction_id = 0;
  CmBody body;

  friend bool operator==(const CmMessage&, const CmMessage&) = default;
};
CmAttribute attribute_of(const CmBody& body);

/// The MAD header of a message of the communication manager, or the reason for dropping it.
Expected<MadHeader, MadDropReason> parse_cm_header(std::span<const uint8_t> mad);
/// Takes any bytes. Returns a message whose fields all have legal values, or the reason for
/// dropping it.
Expected<CmMessage, MadDropReason> parse_cm_message(std::span<const uint8_t> mad);
/// Never fails: fields are cut to their widths. LIDs are written as RoCE has them (permissive).
MadBytes emit_cm_message(const CmMessage& message);

// Which of the processes behind one QP1 a MAD is for:

/// The one that listens for the service.
struct ToService {
  ServiceId service_id;

  friend bool operator==(const ToService&, const ToService&) = default;
};
/// The one that gave out the id.
struct ToCommunication {
  CommId id;

  friend bool operator==(const ToCommunication&, const ToCommunication&) = default;
};
/// All: a REJ that names no communication of the receiver.
struct ToEveryone {
  friend bool operator==(const ToEveryone&, const ToEveryone&) = default;
};
using MadRoute = std::variant<ToEveryone, ToService, ToCommunication>;
/// Takes any bytes, and checks only those that it needs. ToEveryone if the MAD is not a message of
/// the connection manager.
MadRoute route_of(std::span<const uint8_t> mad);

}  // namespace urxe
