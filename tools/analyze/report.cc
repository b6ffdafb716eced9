// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/report.h"

#include <set>

namespace urxe::analyze {

std::vector<ConnectionView> list_connections(const Connections& connections) {
  std::vector<ConnectionView> views;
  std::set<const Stream*> listed;
  for (const Stream& stream : connections.streams()) {
    if (!listed.insert(&stream).second) continue;
    if (stream.opposite != nullptr) listed.insert(stream.opposite);
    views.push_back({&stream, stream.opposite});
  }
  return views;
}

uint64_t unmatched_responses(const ConnectionView& view) {
  return view.forth->unmatched_responses +
         (view.back != nullptr ? view.back->unmatched_responses : 0);
}

std::string_view service_name(Service service) {
  switch (service) {
    case Service::kUc:
      return "UC";
    case Service::kXrc:
      return "XRC";
    default:
      return "RC";
  }
}

std::string_view turn_name(Turn turn) {
  switch (turn) {
    case Turn::kRequester:
      return "requester";
    case Turn::kResponder:
      return "responder";
    case Turn::kNobody:
      break;
  }
  return "nobody";
}

}  // namespace urxe::analyze
