// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// The options of `urxe analyze`.
struct AnalyzeOptions {
  std::string file;   ///< a capture: pcap or pcapng
  bool json = false;  ///< in place of text
};

/// `urxe analyze`: an account of what happened in a capture. Returns the exit status: 1 if
/// something is wrong with the traffic, 2 if the file cannot be read.
int analyze_command(const AnalyzeOptions& options);

}  // namespace urxe
