// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// Limits of this process, which programs inherit; UINT64_MAX: none.
struct LimitFacts {
  uint64_t descriptors = 0;
  uint64_t file_bytes = 0;
};

LimitFacts read_limits();

Finding judge_limits(const LimitFacts& facts);

}  // namespace urxe::doctor
