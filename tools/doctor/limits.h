// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// Limits of this process, which programs inherit; UINT64_MAX: none.
struct LimitFacts {
  uint64_t descriptors = 0;
  uint64_t file_bytes = 0;
  uint64_t most_descriptors = UINT64_MAX;  ///< the hard limit
};

LimitFacts read_limits();

Finding judge_limits(const LimitFacts& facts);

/// Advice on what failed only for want of descriptors would lead astray: it becomes that on the
/// limit.
void blame_limits(Findings& findings);

}  // namespace urxe::doctor
