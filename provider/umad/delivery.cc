// SPDX-License-Identifier: BSD-2-Clause
// The part of Service that gives programs what has come for their agents.
#include <endian.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "packet/base/bytes.h"
#include "packet/host/clock.h"
#include "provider/devices/device_tree.h"
#include "provider/umad/performance.h"
#include "provider/umad/service.h"

namespace urxe::umad {
namespace {

/// Linux hands out only the header of a request that got no response.
constexpr size_t kTimedOutBytes = kMadHeaderBytes;

uint8_t gid_index_of(const std::vector<Gid>& gids, const Gid& gid) {
  const auto found = std::ranges::find(gids, gid);
  return found == gids.end() ? 0 : static_cast<uint8_t>(found - gids.begin());
}

/// As the program has written it, but for the status (umad_send(3)).
ib_user_mad_hdr header_of_timed_out(uint32_t number, const MadEvent& event) {
  ib_user_mad_hdr header;
  static_assert(sizeof header == sizeof event.note);
  std::memcpy(&header, event.note.data(), sizeof header);
  header.id = number;
  header.status = ETIMEDOUT;
  return header;
}

ib_user_mad_hdr header_for(Port& port, uint32_t number, const MadEvent& event) {
  if (event.timed_out) return header_of_timed_out(number, event);
  const Flow& flow = event.flow;
  const Gid& peer = flow.source;
  const Gid& own = flow.destination;
  ib_user_mad_hdr header{};
  header.id = number;
  header.qpn = htobe32(event.remote_qpn.value());
  const bool was_asked = is_response(read_mad_header(event.mad));
  header.lid =
      htobe16(was_asked ? port.lids.of_asked({peer, own}) : port.lids.of_sender({peer, own}));
  header.grh_present = 1;
  header.gid_index = gid_index_of(port.runtime->described().gids, own);
  header.hop_limit = flow.hop_limit;
  header.traffic_class = flow.traffic_class;
  std::ranges::copy(peer.bytes, header.gid);
  header.flow_label = htobe32(flow.flow_label);
  return header;
}

void give(Port& port, const Port::Owner& owner, const MadEvent& event) {
  const std::span<const uint8_t> mad(event.mad);
  owner.file->send(header_for(port, owner.number, event),
                   event.timed_out ? mad.first(kTimedOutBytes) : mad);
}

/// The sender's answer; one that cannot be sent is lost.
void answer(Port& port, MadAgentId agent, const MadEvent& request, const CounterSums& sums) {
  const auto response = answer_performance(request.mad, sums);
  if (!response) return;
  OutgoingMad mad;
  mad.flow.source = request.flow.destination;
  mad.flow.destination = request.flow.source;
  mad.mad = *response;
  mad.qpn = request.remote_qpn;
  (void)port.runtime->device().mads().send(agent, mad, {}, clock_now());
}

void answer_all(Port& port, const std::vector<MadEvent>& requests) {
  if (requests.empty() || !port.performance) return;
  const auto sums = read_counter_sums(device_tree(), port.name);
  if (!sums) return;
  RuntimeDevice::Guard guard(*port.runtime);
  for (const MadEvent& request : requests) answer(port, *port.performance, request, *sums);
}

}  // namespace

void Service::deliver(Port& port) {
  if (port.runtime == nullptr) return;
  std::vector<MadEvent> for_performance;
  std::vector<UmadFile*> full;
  {
    RuntimeDevice::Guard guard(*port.runtime);
    MadAgents& mads = port.runtime->device().mads();
    for (const auto& [id, owner] : port.owners) {
      for (;;) {
        // Asked once: the application may read meanwhile, and then nobody would wait for room.
        if (owner.file != nullptr && !owner.file->has_room()) {
          full.push_back(owner.file);
          break;
        }
        const auto event = mads.take_event(id);
        if (!event) break;
        if (owner.file == nullptr) {
          for_performance.push_back(*event);
        } else {
          give(port, owner, *event);
        }
      }
    }
  }
  for (const UmadFile* file : full) wait_for_room(*file);
  answer_all(port, for_performance);
}

}  // namespace urxe::umad
