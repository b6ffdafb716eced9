// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet/base/time.h"
#include "provider/observation/stat_page.h"

namespace urxe {

/// What one process told of one device.
struct DeviceObservation {
  uint32_t pid = 0;  ///< as the process sees itself
  std::string program;
  std::string device;
  std::string engine;
  Instant started{};
  Instant published{};  ///< when the process last wrote
  Instant observed{};   ///< when this was read
  std::vector<QpReport> queue_pairs;
};

struct Observation {
  std::vector<DeviceObservation> devices;  ///< by process ID and name
  size_t unreadable = 0;                   ///< files that another build of urxe has written
};

/// Reads what all processes of the user tell, in this network namespace or in any. No process is
/// stopped or disturbed.
enum class Whose : uint8_t { kThisNamespace, kAll };
Observation observe(Whose whose);

}  // namespace urxe
