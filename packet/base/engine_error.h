// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>

#include "packet/base/expected.h"

namespace urxe {

/// Why an engine failed: words for the user, and the errno for the verb.
struct EngineError {
  int errno_value = 0;
  std::string what;  ///< the failed operation and its object, and what to do about it
};

/// The error of a failed engine operation, in the form in which functions return it.
inline Unexpected<EngineError> engine_failure(int errno_value, std::string what) {
  return Unexpected<EngineError>({errno_value, std::move(what)});
}

}  // namespace urxe
