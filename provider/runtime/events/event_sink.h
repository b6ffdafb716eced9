// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "provider/runtime/events/event_socket.h"
#include "transport/device/device.h"

namespace urxe {

class RuntimeDevice;

// The receivers of the events of all devices of this process: the verbs, the connection manager,
// and the programs' management agents. Each registers its functions before it opens a device, so
// neither needs to know the other. The functions are called with the device's lock held, and must
// not block.

/// The functions of the verbs. `user` is the pointer that the object was made with. The functions
/// return a socket that has no room for all its events, or null.
struct EventSink {
  std::shared_ptr<EventSocket> (*completion)(void* cq_user) = nullptr;
  std::shared_ptr<EventSocket> (*asynchronous)(const AsyncEvent& event) = nullptr;
  /// An event of the port or the device, which belongs to no object.
  EventSocket::Event (*port_event)(ibv_event_type type) = nullptr;
};

/// The functions of the connection manager. The device may be about to be destroyed: to keep it,
/// take device.weak_from_this().lock(), which may be null.
struct CommunicationSink {
  /// device.cm() has events. The receiver takes them on a thread of its own, with a
  /// Progress::Guard. The function is not called again until a Guard has been held.
  void (*events)(RuntimeDevice& device) = nullptr;
  /// The device's interface is gone or came back, or its link or GIDs changed; see described().
  void (*interface_changed)(RuntimeDevice& device) = nullptr;
  /// The process exits normally. Messages that the function gives to device.cm() are still sent.
  /// Other threads may hold locks forever, so the function may only try to lock. False: another
  /// thread holds a lock; the function is called again a little later, for a bounded time.
  bool (*at_exit)(RuntimeDevice& device) = nullptr;
};

/// The functions of the management agents. As CommunicationSink's, but `events`, which is for those
/// of device.mads(), is called for each event that comes.
struct ManagementSink {
  void (*events)(RuntimeDevice& device) = nullptr;
  void (*interface_changed)(RuntimeDevice& device) = nullptr;
};

/// The sinks must exist as long as the process.
void register_event_sink(const EventSink& sink) noexcept;
void register_communication_sink(const CommunicationSink& sink) noexcept;
void register_management_sink(const ManagementSink& sink) noexcept;

/// The registered sinks; without one, a sink of null pointers. Any thread.
const EventSink& event_sink() noexcept;
const CommunicationSink& communication_sink() noexcept;
const ManagementSink& management_sink() noexcept;

}  // namespace urxe
