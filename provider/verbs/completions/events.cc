// SPDX-License-Identifier: BSD-2-Clause
// Writes the device's events to the application's descriptors.
#include <rdma/ib_user_verbs.h>

#include <cstring>

#include "provider/verbs/completions/cq_lanes.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

EventSocket::Event completion_event(Cq& cq) {
  ib_uverbs_comp_event_desc desc{};
  desc.cq_handle = reinterpret_cast<uintptr_t>(&cq.cq);
  EventSocket::Event event;
  std::memcpy(event.bytes.data(), &desc, sizeof desc);
  return event;
}

EventSocket::Event async_event(uint64_t element, ibv_event_type type) {
  ib_uverbs_async_event_desc desc{};
  desc.element = element;
  desc.event_type = type;
  EventSocket::Event event;
  std::memcpy(event.bytes.data(), &desc, sizeof desc);
  return event;
}

std::shared_ptr<EventSocket> if_waiting(const std::shared_ptr<EventSocket>& socket) {
  return socket->has_waiting() ? socket : nullptr;
}

std::shared_ptr<EventSocket> on_completion(void* cq_user) {
  Cq& cq = *static_cast<Cq*>(cq_user);
  tell_disarmed(cq);
  if (cq.channel == nullptr) return nullptr;
  if (cq.channel->send(completion_event(cq))) ++cq.completion_events;
  return if_waiting(cq.channel);
}

template <class Object>
std::shared_ptr<EventSocket> send_async(Object& object, const void* handle, ibv_event_type type) {
  const std::shared_ptr<EventSocket>& socket = object.owner->async_events();
  if (socket->send(async_event(reinterpret_cast<uintptr_t>(handle), type))) ++object.async_events;
  return if_waiting(socket);
}

/// Every handle of an XRC target gets its events.
std::shared_ptr<EventSocket> send_to_handles(Qp& holder, ibv_event_type type) {
  auto waiting = send_async(holder, &holder.qp, type);
  for (Qp* qp = holder.next_sharer; qp != &holder; qp = qp->next_sharer) {
    auto also_waiting = send_async(*qp, &qp->qp, type);
    if (also_waiting) waiting = std::move(also_waiting);
  }
  return waiting;
}

std::shared_ptr<EventSocket> on_async_event(const AsyncEvent& event) {
  if (event.qp != nullptr) {
    return send_to_handles(*static_cast<Qp*>(event.qp->user), event.type);
  }
  if (event.cq != nullptr) {
    Cq& cq = *static_cast<Cq*>(event.cq->user());
    return send_async(cq, &cq.cq, event.type);
  }
  if (event.srq != nullptr) {
    Srq& srq = *static_cast<Srq*>(event.srq->user);
    return send_async(srq, &srq.srq, event.type);
  }
  return nullptr;
}

/// There is one port. An event of the whole device has no port number.
EventSocket::Event port_event(ibv_event_type type) {
  return async_event(1, type);
}

}  // namespace

const EventSink kVerbsEventSink = {on_completion, on_async_event, port_event};

}  // namespace urxe
