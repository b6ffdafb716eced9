// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/analyze/analysis.h"

namespace urxe::analyze {

/// Two streams that belong together, or one alone.
struct ConnectionView {
  const Stream* forth = nullptr;  ///< the one that began first
  const Stream* back = nullptr;   ///< null: the queue pair that sends `forth` is not known
};
std::vector<ConnectionView> list_connections(const Connections& connections);

/// "RC", "UC", "XRC".
std::string_view service_name(Service service);
/// "nobody", "requester", "responder".
std::string_view turn_name(RequestFlow::Turn turn);

/// For people. Ends with a newline.
std::string text_report(const Analysis& analysis);
/// For programs: one JSON object; see urxe-analyze(1). Ends with a newline.
std::string json_report(const Analysis& analysis);

}  // namespace urxe::analyze
