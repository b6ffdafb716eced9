// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// Why an engine failed: words for the user, and the errno for the verb.
struct EngineError {
  int errno_value = 0;
  std::string what;  ///< the failed operation and its object, and what to do about it
};

}  // namespace urxe
