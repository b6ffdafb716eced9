// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

namespace conformance {

/// What the command line says.
struct Options {
  std::string device;  ///< empty: the first device
  uint8_t port = 1;
  int gid_index = -1;        ///< -1: the first RoCE v2 entry, or the first of all
  bool require_all = false;  ///< a feature that is missing is a failure, not a skip
  bool slow = false;         ///< run the tests that take long, too
};

const Options& options();

/// Takes our options out of the arguments that GoogleTest has left. Returns what is wrong with
/// them, or nothing.
std::string parse_options(int argc, char** argv);

}  // namespace conformance
