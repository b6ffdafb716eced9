// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "tools/analyze/page.h"
#include "tools/analyze/report.h"
#include "tools/analyze/trace_json.h"

namespace urxe::analyze {
namespace {

/// What a plot has in any case.
constexpr size_t kLeastPoints = 16;

size_t points_per_plot(size_t most_points, size_t directions) {
  constexpr size_t kPlots = 2;  // requests and responses
  const size_t share = most_points / kPlots / std::max<size_t>(directions, 1);
  return std::clamp(share, kLeastPoints, PsnTrace::kMaxPoints);
}

/// Text that is JSON, in a form that no browser takes for the end of a script or for markup.
std::string escape_markup(const std::string& json) {
  std::string escaped;
  escaped.reserve(json.size());
  for (const char c : json) {
    // These are in strings only, where JSON lets any character be written by its number.
    if (c == '<') {
      escaped += "\\u003c";
    } else if (c == '>') {
      escaped += "\\u003e";
    } else if (c == '&') {
      escaped += "\\u0026";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

Json page_object(const Analysis& analysis, const std::string& file, size_t most_points) {
  Json json = report_object(analysis);
  json["file"] = file;
  json["version"] = URXE_VERSION;
  const int64_t start_ns = analysis.counts().first_ns;
  json["capture"]["start_ns"] = std::to_string(start_ns);  // no number of JavaScript is as exact
  const size_t most = points_per_plot(most_points, analysis.connections().streams().size());
  const auto views = list_connections(analysis.connections());
  for (size_t i = 0; i < views.size(); ++i) {
    Json& directions = json["connections"][i]["directions"];
    directions[0]["trace"] = trace_json(views[i].forth->requests, start_ns, most);
    if (views[i].back == nullptr) continue;
    directions[1]["trace"] = trace_json(views[i].back->requests, start_ns, most);
  }
  return json;
}

}  // namespace

std::string html_report(const Analysis& analysis, const std::string& file, size_t most_points) {
  constexpr auto kReplaceInvalid = Json::error_handler_t::replace;
  const std::string json =
      page_object(analysis, file, most_points).dump(-1, ' ', true, kReplaceInvalid);
  return std::string(kPageHead) + escape_markup(json) + std::string(kPageTail);
}

}  // namespace urxe::analyze
