// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "packet/base/expected.h"

namespace urxe::lab {

/// Nothing, or why a step failed: a line for the user.
using Done = Expected<void, std::string>;

inline Unexpected<std::string> failure(const std::string& what) {
  return Unexpected<std::string>(what);
}

/// The same with the reason in errno.
inline Unexpected<std::string> system_failure(const std::string& what) {
  return failure(what + ": " + std::strerror(errno));
}

}  // namespace urxe::lab
