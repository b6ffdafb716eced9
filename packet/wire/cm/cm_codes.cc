// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/cm/cm_codes.h"

namespace urxe {

const char* cm_attribute_name(CmAttribute attribute) {
  switch (attribute) {
    case CmAttribute::kReq:
      return "REQ";
    case CmAttribute::kMra:
      return "MRA";
    case CmAttribute::kRej:
      return "REJ";
    case CmAttribute::kRep:
      return "REP";
    case CmAttribute::kRtu:
      return "RTU";
    case CmAttribute::kDreq:
      return "DREQ";
    case CmAttribute::kDrep:
      return "DREP";
    case CmAttribute::kSidrReq:
      return "SIDR_REQ";
    case CmAttribute::kSidrRep:
      return "SIDR_REP";
    case CmAttribute::kLap:
      return "LAP";
    case CmAttribute::kApr:
      return "APR";
  }
  return "unknown";
}

}  // namespace urxe
