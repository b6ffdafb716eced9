// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/doctor/child.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

// What self_ping() prints, a line each.
inline constexpr const char* kPresenceWord = "presence";  ///< the preloaded object is there
inline constexpr const char* kErrorWord = "error";        ///< words: nothing could be tried
inline constexpr const char* kDeviceWord = "device";      ///< its name: libibverbs has found it
/// "ping DEVICE ADDRESS took NANOSECONDS ROUNDS", or "ping DEVICE ADDRESS failed WORDS".
inline constexpr const char* kPingWord = "ping";
inline constexpr const char* kEndWord = "end";

/// Of more addresses none is tried.
inline constexpr size_t kMostPings = 16;

/// The ping of one address.
struct PingResult {
  std::string device;
  std::string address;
  double round_trip_us = 0;
  size_t rounds = 0;
  std::string failure;  ///< empty: it went well
};

/// What the child has told.
struct PingReport {
  bool presence = false;  ///< the preloaded object was there
  bool complete = false;  ///< it came to its end
  std::string error;      ///< why nothing could be tried; empty: it could
  std::vector<std::string> devices;
  std::vector<PingResult> pings;
};

PingReport parse_ping_report(const std::string& out);

/// Whether the preloaded object gets into a program, given what the child has told. `others`: what
/// the user preloads.
Findings judge_preload(const PingReport& report, const ChildResult& child,
                       const std::string& others);
/// `expected`: the devices that it should have found. `addresses`: how many GIDs they have.
/// `faults`: URXE_FAULTS.
Findings judge_pings(const PingReport& report, const ChildResult& child,
                     const std::vector<std::string>& expected, size_t addresses,
                     const std::string& faults = "");

}  // namespace urxe::doctor
