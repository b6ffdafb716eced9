// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/bytes.h"
#include "packet/wire/cm/cm_message.h"

namespace urxe {
namespace {

// Offsets from the end of the MAD header.
constexpr size_t kRequestIdAt = 0;     ///< of SIDR_REP
constexpr size_t kRemoteCommIdAt = 4;  ///< of all that have one
constexpr size_t kServiceIdAt = 8;     ///< of REQ and SIDR_REQ

}  // namespace

MadRoute route_of(std::span<const uint8_t> mad) {
  const auto header = parse_cm_header(mad);
  if (!header) return ToEveryone{};
  const uint8_t* body = mad.data() + kMadHeaderBytes;
  switch (static_cast<CmAttribute>(header->attribute_id)) {
    case CmAttribute::kReq:
    case CmAttribute::kSidrReq:
      return ToService{ServiceId(load_be64(body + kServiceIdAt))};
    case CmAttribute::kSidrRep:
      return ToCommunication{CommId(load_be32(body + kRequestIdAt))};
    case CmAttribute::kRej:
      if (load_be32(body + kRemoteCommIdAt) == 0) return ToEveryone{};
      [[fallthrough]];
    default:
      return ToCommunication{CommId(load_be32(body + kRemoteCommIdAt))};
  }
}

}  // namespace urxe
