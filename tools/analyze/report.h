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
/// Responses of both ends to requests that are not in the capture.
uint64_t unmatched_responses(const ConnectionView& view);
std::vector<ConnectionView> list_connections(const Connections& connections);

/// "RC", "UC", "XRC".
std::string_view service_name(Service service);
/// "nobody", "requester", "responder".
std::string_view turn_name(Turn turn);

/// So many points a page opens fast with.
inline constexpr size_t kPagePoints = 400'000;

/// For people. Ends with a newline.
std::string text_report(const Analysis& analysis);
/// For programs: one JSON object; see urxe-analyze(1). Ends with a newline.
std::string json_report(const Analysis& analysis);

/// For a browser: one HTML file with all that the other reports have, and the course of each
/// connection over time. `file` is the name to show of the capture; it may be any bytes. The plots
/// of all connections together have `most_points` points, or a few more if there are very many.
std::string html_report(const Analysis& analysis, const std::string& file,
                        size_t most_points = kPagePoints);

}  // namespace urxe::analyze
