// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>

namespace urxe {

/// The options of `urxe analyze`.
struct AnalyzeOptions {
  std::string file;                 ///< a capture: pcap or pcapng
  bool json = false;                ///< in place of text
  std::optional<std::string> html;  ///< a page to make, besides
};

/// `urxe analyze`: an account of what happened in a capture. Returns the exit status: 1 if
/// something is wrong with the traffic, 2 if the file cannot be read or the page not be written.
int analyze_command(const AnalyzeOptions& options);

}  // namespace urxe
