// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/cm/mad.h"

#include "packet/base/bytes.h"

namespace urxe {

MadHeader read_mad_header(MadView mad) {
  const uint8_t* p = mad.data();
  return {.base_version = p[0],
          .management_class = p[1],
          .class_version = p[2],
          .method = p[3],
          .status = load_be16(p + 4),
          .class_specific = load_be16(p + 6),
          .transaction_id = load_be64(p + 8),
          .attribute_id = load_be16(p + 16),
          .attribute_modifier = load_be32(p + 20)};
}

void write_mad_header(const MadHeader& header, MadBytes& mad) {
  uint8_t* p = mad.data();
  p[0] = header.base_version;
  p[1] = header.management_class;
  p[2] = header.class_version;
  p[3] = header.method;
  store_be16(p + 4, header.status);
  store_be16(p + 6, header.class_specific);
  store_be64(p + 8, header.transaction_id);
  store_be16(p + 16, header.attribute_id);
  store_be16(p + 18, 0);  // reserved
  store_be32(p + 20, header.attribute_modifier);
}

const char* mad_drop_reason_name(MadDropReason reason) {
  switch (reason) {
    case MadDropReason::kLength:
      return "length";
    case MadDropReason::kVersion:
      return "version";
    case MadDropReason::kClass:
      return "class";
    case MadDropReason::kMethod:
      return "method";
    case MadDropReason::kUnknownAttribute:
      return "unknown_attribute";
    case MadDropReason::kMalformed:
      return "malformed";
    case MadDropReason::kUnknownId:
      return "unknown_id";
    case MadDropReason::kWrongPeer:
      return "wrong_peer";
    case MadDropReason::kWrongState:
      return "wrong_state";
    case MadDropReason::kNoRoom:
      return "no_room";
    case MadDropReason::kOverQuota:
      return "over_quota";
    case MadDropReason::kCount:
      break;
  }
  return "unknown";
}

}  // namespace urxe
