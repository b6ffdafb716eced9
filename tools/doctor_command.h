// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

#include "tools/environment.h"

namespace urxe {

/// The options of `urxe doctor`.
struct DoctorOptions {
  RunOptions run;                   ///< the devices and the engine
  std::string program;              ///< to look into; empty: none
  std::optional<std::string> host;  ///< a peer to reach
  bool json = false;
};

/// `urxe doctor`: prints what it finds on this machine. Returns the exit status: 0 fine, 1 a
/// problem, 2 an option that cannot be read.
int doctor_command(DoctorOptions options);

}  // namespace urxe
