// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "packet/base/expected.h"

namespace urxe {

/// The network namespace and the PID namespace of this process.
struct NetworkNamespace {
  uint64_t number = 0;        ///< as in "net:[4026531840]"; reused when the namespace is gone
  std::string identity;       ///< unique for all time (on kernels from 5.14)
  std::string pid_namespace;  ///< "pid:[4026531836]": /proc shows its processes
};

/// The error is a sentence for the user.
Expected<NetworkNamespace, std::string> current_network_namespace();

}  // namespace urxe
