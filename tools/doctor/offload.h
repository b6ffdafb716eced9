// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// What the kernel and an interface do for large batches of packets; nullopt: they do not tell.
struct OffloadFacts {
  std::string ifname;
  bool kernel_segments = false;  ///< UDP_SEGMENT
  bool kernel_joins = false;     ///< UDP_GRO
  std::optional<bool> segments;  ///< "gso" of ethtool
  std::optional<bool> joins;     ///< "gro"
  std::optional<bool> sums;      ///< "tx"
};

OffloadFacts read_offload(const std::string& ifname);

Finding judge_offload(const OffloadFacts& facts);

}  // namespace urxe::doctor
