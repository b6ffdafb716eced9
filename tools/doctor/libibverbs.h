// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// The libibverbs that a program of this machine gets, and the provider for it.
struct LibibverbsFacts {
  std::string load_error;     ///< why it cannot be loaded; empty: it can
  std::string path;           ///< of the library, links followed
  int private_abi = 0;        ///< 0: it has none that can be found
  std::string provider;       ///< the path at which the library looks for urxe's provider
  std::string provider_lack;  ///< why the provider cannot be loaded; empty: it can
};

/// Loads libibverbs into this process, which does not load any driver. `libraries` is the directory
/// of the provider.
LibibverbsFacts read_libibverbs(const std::string& libraries);

Finding judge_libibverbs(const LibibverbsFacts& facts);

/// The release of rdma-core that the library's file name tells: 44 for "libibverbs.so.1.14.44.0";
/// empty if it tells none.
std::string release_of(const std::string& path);

}  // namespace urxe::doctor
