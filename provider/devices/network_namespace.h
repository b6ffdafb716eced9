// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "packet/base/expected.h"

namespace urxe {

/// The network namespace of this process, and whom it sees.
struct NetworkNamespace {
  uint64_t number = 0;   ///< as in "net:[4026531840]"; used again when the namespace is gone
  std::string identity;  ///< that no other namespace has had or will have (on kernels from 5.14)
  std::string pid_namespace;  ///< "pid:[4026531836]": whose processes /proc shows
};

/// The error is a sentence for the user.
Expected<NetworkNamespace, std::string> current_network_namespace();

}  // namespace urxe
