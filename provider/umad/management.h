// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/cm/mad.h"

namespace urxe::umad {

// Codes of IBTA vol. 1, 13.4.

inline constexpr uint8_t kSubnetLidRouted = 0x01;
inline constexpr uint8_t kSubnetDirectedRoute = 0x81;
inline constexpr uint8_t kSubnetAdministration = 0x03;
inline constexpr uint8_t kPerformance = 0x04;

inline constexpr uint8_t kMethodGet = 0x01;
inline constexpr uint8_t kMethodSet = 0x02;
inline constexpr uint8_t kMethodGetResp = kMethodGet | kMadMethodResponse;

inline constexpr uint16_t kClassPortInfo = 0x0001;

inline constexpr uint16_t kStatusBadVersion = 1 << 2;
inline constexpr uint16_t kStatusUnsupportedMethod = 2 << 2;
inline constexpr uint16_t kStatusUnsupportedAttribute = 3 << 2;
inline constexpr uint16_t kStatusInvalidValue = 7 << 2;

/// Subnet management packets, which RoCE ports do not have (annex A16.5.1).
constexpr bool is_subnet_management(uint8_t management_class) {
  return management_class == kSubnetLidRouted || management_class == kSubnetDirectedRoute;
}

/// The response to a Get or Set, with the data of the request.
MadBytes respond(MadView request, uint16_t status);

}  // namespace urxe::umad
