// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "packet/base/deadline_heap.h"
#include "packet/base/intrusive_list.h"
#include "packet/base/time.h"
#include "packet/wire/gid.h"
#include "transport/device/counters.h"
#include "transport/device/gsi.h"
#include "transport/device/multicast.h"
#include "transport/memory/memory_region.h"
#include "transport/path/backpressure.h"
#include "transport/path/congestion.h"
#include "transport/path/read_window.h"
#include "transport/queues/completion_queue.h"
#include "transport/queues/shared_receive_queue.h"
#include "transport/raw_packet/steering_table.h"
#include "transport/responder/held_requests.h"

namespace urxe {

struct QueuePair;

/// The parameters of a new device.
struct DeviceConfig {
  std::vector<Gid> gids;
  ibv_mtu active_mtu = IBV_MTU_4096;
  uint32_t interface_mtu = 1500;  ///< the largest payload of an Ethernet frame
  SipKey key_secret{1, 2};        ///< of memory keys; the same secret gives the same ones
  GuardedAccess guarded_access;
  Duration min_ack_timeout{};  ///< local ACK timeouts are never shorter than this
  /// Bytes of a peer's receive buffer that this device may fill (receive_room()). More in flight
  /// only causes cache misses.
  uint32_t max_window = 1024 * 1024;
  /// The same for a peer that receives by a socket; no more than max_window.
  uint32_t socket_window = UINT32_MAX;
  /// Whether requests that come behind a gap are kept (HeldRequests). If not, they are dropped, as
  /// adapters commonly do.
  bool keeps_requests = true;
};

/// An asynchronous event (ibv_get_async_event(3)) and what it is about: one of the pointers.
struct AsyncEvent {
  ibv_event_type type = IBV_EVENT_QP_FATAL;
  QueuePair* qp = nullptr;
  CompletionQueue* cq = nullptr;
  SharedReceiveQueue* srq = nullptr;
};

/// The state shared by the parts of one channel adapter: every function of the transport that
/// sends, receives or completes gets it.
struct ChannelAdapter {
  explicit ChannelAdapter(const DeviceConfig& device_config)
      : config(device_config),
        memory(device_config.key_secret, device_config.guarded_access),
        reads(device_config.max_window) {
    config.socket_window = std::min(config.socket_window, config.max_window);
  }

  DeviceConfig config;
  MemoryTable memory;
  SrqTable srqs;
  Counters counters;
  /// When queue pairs have something to do: retry timers, and for UC and UD room at the receiver.
  DeadlineHeap<QueuePair, struct TimerTag> timers;
  PathTable paths;
  ReadWindow reads;
  MulticastTable multicast;
  DeadlineHeap<QueuePair, struct PacingTag> pacing;  ///< when those that wait for tokens try again
  Backpressure backpressure;
  GeneralServices gsi;
  SteeringTable steering;
  HeldRequests held;
  IntrusiveList<QueuePair, struct ActiveTag> active;                ///< have something to transmit
  IntrusiveList<QueuePair, struct FramesTag> sending_frames;        ///< of them, raw packet ones
  IntrusiveList<QueuePair, struct DeferredTag> deferred;            ///< have an ACK that may wait
  IntrusiveList<CompletionQueue, struct HeldEventTag> held_events;  ///< moderated: not yet due
  std::optional<Instant> next_held_event;                           ///< no held event is due before
  std::vector<CompletionQueue*> notified;
  Instant now{};                 ///< the time of the last call: the timestamp of completions
  bool through_memory = false;   ///< whether the last packet has come so
  bool host_is_crowded = false;  ///< see Device::set_host_is_crowded()
  std::deque<AsyncEvent> events;

  /// Adds an asynchronous event. One that finds no memory is lost.
  void raise(const AsyncEvent& event);
  void raise(ibv_event_type type, QueuePair* qp) { raise({type, qp, nullptr, nullptr}); }
  void raise(ibv_event_type type, SharedReceiveQueue* srq) { raise({type, nullptr, nullptr, srq}); }
  /// Raises the events that moderation has held back until now.
  void release_held_events();
  /// Changes the moderation of `cq`. An event that is held back comes at once.
  void moderate(CompletionQueue& cq, CqModeration moderation);
  /// Adds a completion to `cq`. Raises the events of an overflow and of an armed queue.
  void complete(CompletionQueue& cq, QueuePair& qp, const ibv_wc& wc, bool solicited,
                FreedSlots slots = {});

 private:
  void notify(CompletionQueue& cq);
  void hold_event(CompletionQueue& cq);
};

}  // namespace urxe
