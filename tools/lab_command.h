// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// The options of `urxe lab`.
struct LabOptions {
  std::optional<unsigned> nodes;
  std::optional<unsigned> mtu;
  std::string topology;              ///< a file; empty: a star
  std::string loss;                  ///< as the word loss= of --fault has it; empty: none
  std::string delay;                 ///< delay=
  std::string rate;                  ///< rate=
  std::vector<std::string> command;  ///< empty: a shell
};

/// `urxe lab`: makes nodes joined by a switch, and runs the command in the first one. Returns the
/// exit status: the command's, 2 an option that cannot be had, 125 a failure.
int lab_command(const LabOptions& options);

}  // namespace urxe
