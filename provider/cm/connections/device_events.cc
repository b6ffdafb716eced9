// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/connections/device_events.h"

#include <cerrno>
#include <new>
#include <utility>
#include <variant>
#include <vector>

#include "packet/host/clock.h"
#include "provider/cm/connections/connection_messages.h"
#include "provider/cm/connections/incoming.h"
#include "provider/cm/ids/event_response.h"
#include "provider/cm/ids/resolution.h"

namespace urxe::cm {
namespace {

/// Events handled at a time; other threads can take the locks in between.
constexpr size_t kEventsAtOnce = 64;

void end_connection(Service& service, CmId& id, int status) {
  id.state = IdState::kDisconnect;
  service.post(id, plain_event(EventType::kDisconnected, status));
}

/// Handles the events of an id in the state kConnect: all but the end of time-wait, as in Linux.
void handle_connected(Service& service, CmId& id, CmEvent& event) {
  switch (event.kind) {
    case CmEvent::Kind::kReply:
      take_reply(id, std::get<CmRep>(event.body));
      return service.post(id, connect_response(std::get<CmRep>(event.body)));
    case CmEvent::Kind::kEstablished:
      return service.post(id, plain_event(EventType::kEstablished));
    case CmEvent::Kind::kRejected:
      return service.post(id, rejected(std::get<CmRej>(event.body)));
    case CmEvent::Kind::kRequestTimeout:
    case CmEvent::Kind::kReplyTimeout:
    case CmEvent::Kind::kServiceTimeout:
      return service.post(id, plain_event(EventType::kUnreachable, -ETIMEDOUT));
    // The peer's queue pair is in the error state by now, and its application may be waiting for
    // the DREP: it is sent at once.
    case CmEvent::Kind::kDisconnectRequest:
      (void)with_cm(*id.device, [&](ConnectionManager& cm) {
        return cm.answer_disconnect(id.comm, {}, clock_now());
      });
      return end_connection(service, id, 0);
    case CmEvent::Kind::kDisconnected:
      return end_connection(service, id, 0);
    case CmEvent::Kind::kDisconnectTimeout:
    case CmEvent::Kind::kPeerSilent:
      return end_connection(service, id, -ETIMEDOUT);
    case CmEvent::Kind::kPeerGone:
      return end_connection(service, id, -ECONNRESET);
    case CmEvent::Kind::kServiceReply:
      return service.post(id, take_service_reply(id, std::get<CmSidrRep>(event.body)));
    default:
      return;
  }
}

void refuse_alternate_path(CmId& id) {
  with_cm(*id.device, [&](ConnectionManager& cm) {
    CmApr answer;
    answer.status = CmAprStatus::kUnsupported;
    (void)cm.answer_alternate_path(id.comm, answer, clock_now());
  });
}

/// A peer does not answer. If no program on its host has a device, that host's kernel reports it.
void look_at_port(Service& service, DeviceUse& device, const Flow& from_peer) {
  const Gid& local = from_peer.destination;
  const Gid& peer = from_peer.source;
  const uint32_t ifindex = device.runtime->description().ifindex;
  if (!service.closed_ports.look(local, peer, ifindex, clock_now())) return;
  with_cm(device, [&](ConnectionManager& cm) { cm.port_is_closed(local, peer, clock_now()); });
}

bool is_request(const CmEvent& event) {
  return event.kind == CmEvent::Kind::kRequest || event.kind == CmEvent::Kind::kServiceRequest;
}

void handle_event(Service& service, DeviceUse& device, CmEvent& event) {
  if (event.kind == CmEvent::Kind::kPeerQuiet) return look_at_port(service, device, event.flow);
  if (is_request(event)) return handle_request(service, device, event);
  const auto entry = device.communications.find(event.id.value());
  if (entry == device.communications.end()) return;
  CmId* id = service.ids.find(entry->second);
  if (id == nullptr) return;
  if (event.kind == CmEvent::Kind::kAlternatePath) return refuse_alternate_path(*id);
  if (event.kind == CmEvent::Kind::kTimeWaitExit) {
    if (id->state != IdState::kDisconnect) return;
    return service.post(*id, plain_event(EventType::kTimeWaitExit));
  }
  if (id->state != IdState::kConnect) return;
  handle_connected(service, *id, event);
  tell_observers(*id);
}

/// The interface is gone: each id of the device gets an event and can then only be destroyed.
/// Wildcard listeners are not bound to the device and go on.
void remove_device(Service& service, DeviceUse& device) {
  device.gone = true;
  for (uint32_t number : std::vector<uint32_t>(device.ids.begin(), device.ids.end())) {
    CmId* id = service.ids.find(number);
    if (id == nullptr) continue;
    cancel_resolution(service, *id);
    stop_listening(*id);
    drop_communication(*id);
    id->state = IdState::kDeviceGone;
    tell_observers(*id);
    service.post(*id, plain_event(EventType::kDeviceRemoval));
  }
}

/// A device that came back is opened again by its next use.
void follow_interface(Service& service, DeviceUse& device, bool gone) {
  if (gone && !device.gone) remove_device(service, device);
  if (!gone) device.gone = false;
}

}  // namespace

bool handle_events(Service& service, DeviceUse& device) {
  std::vector<CmEvent> events;
  events.reserve(kEventsAtOnce);  // an event that is taken must not be lost
  bool more = false;
  bool gone = false;
  {
    RuntimeDevice::Guard guard(*device.runtime);
    ConnectionManager& cm = device.runtime->device().cm();
    gone = device.runtime->described().gone;
    while (events.size() < kEventsAtOnce) {
      auto event = cm.take_event();
      if (!event) break;
      events.push_back(*std::move(event));
    }
    more = cm.has_event();
  }
  for (CmEvent& event : events) {
    try {
      handle_event(service, device, event);
    } catch (const std::bad_alloc&) {
      // Only this event is lost. The peer hears of a request that nobody will answer.
      if (is_request(event)) {
        with_cm(device, [&](ConnectionManager& cm) { cm.destroy(event.id, clock_now()); });
      }
    }
  }
  if (gone != device.gone) follow_interface(service, device, gone);
  return !more;
}

}  // namespace urxe::cm
