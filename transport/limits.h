// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/ack_timeout.h"

namespace urxe {

// The limits that the channel adapter enforces. ibv_query_device() shows them.

inline constexpr int kMaxQps = 32000;                ///< queue pairs per device and process
inline constexpr uint32_t kMaxWorkRequests = 32768;  ///< per send or receive queue
inline constexpr uint32_t kMaxSge = 32;              ///< per work request
inline constexpr uint32_t kMaxInline = 1024;         ///< bytes
inline constexpr int kMaxCqs = 65536;
inline constexpr uint32_t kMaxCqEntries = 4194304;
inline constexpr uint32_t kMaxCompletionCounters = 65536;  ///< per context
inline constexpr int kMaxRegions = 1 << 20;
inline constexpr int kMaxWindows = 1 << 20;
inline constexpr uint64_t kMaxDeviceMemory = 256U << 20;  ///< bytes, ibv_alloc_dm(3)
inline constexpr int kMaxPds = 65536;
inline constexpr int kMaxSrqs = 32000;
inline constexpr uint32_t kMaxSrqWorkRequests = kMaxWorkRequests;
inline constexpr int kMaxAhs = 1 << 20;
inline constexpr int kMaxMulticastGroups = 256;       ///< each costs the process a socket
inline constexpr int kMaxMulticastAttached = 256;     ///< queue pairs in a group
inline constexpr uint32_t kMaxRdAtomic = 128;         ///< per queue pair, each direction
inline constexpr uint32_t kMaxMessage = 0x80000000U;  ///< bytes, 2 GiB (IBTA vol. 1, 9.7.7)
inline constexpr uint8_t kLocalCaAckDelay = 15;       ///< 4.096 us * 2^15, IBTA 11.2.1.2

}  // namespace urxe
