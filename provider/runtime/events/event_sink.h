// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "provider/runtime/events/event_socket.h"
#include "transport/device/device.h"

namespace urxe {

class RuntimeDevice;

// Where the events of all devices of this process go. The parts of the provider that take them
// register when they are loaded, before they open a device; so each can open devices without
// knowing of the others. All are called with the device's lock held, and must not block.

/// What verbs take. `user` is the pointer that the object was made with. The socket in an answer,
/// if any, has events that found no room.
struct EventSink {
  std::shared_ptr<EventSocket> (*completion)(void* cq_user) = nullptr;
  std::shared_ptr<EventSocket> (*asynchronous)(const AsyncEvent& event) = nullptr;
  /// An event of the port or the device, which belongs to no object.
  EventSocket::Event (*port_event)(ibv_event_type type) = nullptr;
};

/// What the consumer of the devices' connection managers takes. The device may be about to go: who
/// wants to keep it takes device.weak_from_this().lock(), which may be null.
struct CommunicationSink {
  /// device.cm() has events. Somebody then takes them all, with a Progress::Guard, on a thread of
  /// the consumer's. Not told again before somebody has held the lock so.
  void (*events)(RuntimeDevice& device) = nullptr;
  /// The device's interface is gone or came back, its link or its GIDs changed: described() tells.
  void (*interface_changed)(RuntimeDevice& device) = nullptr;
  /// The process exits normally. What the verbs of device.cm() are told to send here is sent. The
  /// other threads may be anywhere: locks of the consumer's are to be tried, not waited for.
  void (*at_exit)(RuntimeDevice& device) = nullptr;
};

/// The sinks stay where they are as long as the process lives.
void register_event_sink(const EventSink& sink) noexcept;
void register_communication_sink(const CommunicationSink& sink) noexcept;

/// What was registered; sinks of nulls where nothing was. Any thread.
const EventSink& event_sink() noexcept;
const CommunicationSink& communication_sink() noexcept;

}  // namespace urxe
