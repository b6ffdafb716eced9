// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// The bytes that the kernel allows for a socket's buffers.
struct BufferFacts {
  size_t wanted = 0;   ///< what urxe asks for
  size_t receive = 0;  ///< granted; 0: not known
  size_t send = 0;
};

BufferFacts read_buffers();

Finding judge_buffers(const BufferFacts& facts);

}  // namespace urxe::doctor
