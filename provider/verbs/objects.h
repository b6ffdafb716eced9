// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "packet/engine/lane_choice.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/locks/spinlock.h"
#include "provider/runtime/memory/dma_buf.h"
#include "provider/runtime/memory/unmap_watch.h"
#include "provider/verbs/abi/private_abi.h"
#include "provider/verbs/abi/qp_layout.h"
#include "provider/verbs/context.h"
#include "provider/verbs/handles.h"
#include "transport/device/device.h"

namespace urxe {

// The objects behind the application's handles: libibverbs' structure, then our own members.

/// A promise of the application that one thread at a time uses the objects made with it.
struct Td : ibv_td {
  HandleMark mark;
  Context* owner = nullptr;
  std::atomic<int> users{0};
};

/// A protection domain, or a parent domain: a second handle of a protection domain, with or without
/// a thread domain.
struct Pd : ibv_pd, ListHook<struct PdTag> {
  HandleMark mark;
  Context* owner = nullptr;
  PdId id;
  std::atomic<int> users{0};  ///< objects made with this handle
  bool imported = false;      ///< the domain is another context's
  Pd* base = nullptr;         ///< of a parent domain: the protection domain
  Td* thread = nullptr;       ///< of a parent domain, if any
};

/// Counts an object that uses the handle of a domain, which keeps the handle from being freed.
class DomainUse {
 public:
  DomainUse() = default;
  explicit DomainUse(Pd& pd) : pd_(&pd) { pd.users.fetch_add(1); }
  DomainUse(DomainUse&& other) noexcept : pd_(std::exchange(other.pd_, nullptr)) {}
  DomainUse& operator=(DomainUse&& other) noexcept {
    std::swap(pd_, other.pd_);
    return *this;
  }
  ~DomainUse() {
    if (pd_ != nullptr) pd_->users.fetch_sub(1);
  }

 private:
  Pd* pd_ = nullptr;
};

/// The pages of device memory. They stay as long as a handle has them.
struct DmPages {
  DmPages() = default;
  DmPages(const DmPages&) = delete;
  DmPages& operator=(const DmPages&) = delete;
  ~DmPages();

  void* mapping = nullptr;
  size_t mapped_bytes = 0;
  uint8_t* bytes = nullptr;
  size_t length = 0;
};

/// Device memory.
struct Dm : ibv_dm, ListHook<struct DmTag> {
  Dm() : ibv_dm{} {}

  HandleMark mark;
  Context* owner = nullptr;
  std::shared_ptr<const DmPages> pages;
  bool imported = false;  ///< the memory is another context's
  uint32_t regions = 0;   ///< registered; under the device's lock
};

struct Mr : abi::VerbsMr, ListHook<struct MrTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  MemoryRegion* region = nullptr;  ///< null: imported, and another context's
  WatchedRange watched;
  Dm* device_memory = nullptr;  ///< null: of no device memory
  DmaBuf dma_buf;               ///< of a dma-buf
};

struct Mw : ibv_mw, ListHook<struct MwTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  MemoryWindow* window = nullptr;
};

struct Ah : ibv_ah, ListHook<struct AhTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  Flow flow;  ///< without the source port
  /// The source port of each lane; 0: none is claimed. One is once the context has a UD queue pair
  /// in the lane; until then handles cost only memory.
  std::array<std::atomic<uint16_t>, kMostLanes> source_ports{};
};

struct Cq : abi::VerbsCq, ListHook<struct CqTag> {
  HandleMark mark;
  Context* owner = nullptr;
  /// Whoever polls drives this lane (cq_lanes.h).
  std::atomic<Progress*> progress{nullptr};
  /// The other lanes that complete to the queue, by bits of their numbers.
  std::atomic<uint32_t> other_lanes{0};
  Lane* lane = nullptr;  ///< under the locks; null: no queue pair has used the queue
  CompletionQueue* queue = nullptr;
  Spinlock poller;
  Progress::CountedBy counted_as_armed{nullptr};
  std::shared_ptr<EventSocket> channel;  ///< null: none
  DomainUse domain;                      ///< a parent domain, if it was made with one

  // Of the extended interface, from start_poll to end_poll; under `poller`.
  StampedCompletion current;
  bool shows_wallclock = false;
  int64_t wallclock_offset_ns = 0;  ///< from the timestamps' clock to CLOCK_REALTIME

  std::atomic<uint32_t> completion_events{0};  ///< handed to the channel
  std::atomic<uint32_t> async_events{0};       ///< handed to the context's asynchronous events
};

/// A UDP source port held for a queue pair.
struct SourcePort {
  Gid local;
  uint16_t port = 0;
  uint16_t wanted = 0;  ///< what was asked for
  Gid peer;             ///< for packets to this queue pair
  uint32_t peer_qpn = 0;
};

struct Srq : abi::VerbsSrq, ListHook<struct SrqTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  Lane* lane = nullptr;  ///< of its queue pairs; under the locks; null: there were none yet
  SharedReceiveQueue* queue = nullptr;
  Spinlock poster;
  std::atomic<uint32_t> async_events{0};
};

struct Xrcd : abi::VerbsXrcd, ListHook<struct XrcdTag> {
  HandleMark mark;
  Context* owner = nullptr;
  XrcDomain* domain = nullptr;
  uint32_t users = 0;  ///< shared receive queues and target handles; under the device's lock
};

/// A flow steering rule.
struct SteeringFlow : ibv_flow, ListHook<struct SteeringFlowTag> {
  SteeringFlow() : ibv_flow{} {}

  HandleMark mark;
  Context* owner = nullptr;
  struct Qp* qp = nullptr;  ///< that the rule leads to
  FlowId id;
};

/// The requests that were built since ibv_wr_start().
struct SendBatch {
  uint32_t end = 0;            ///< position after the last request begun
  int wrong = 0;               ///< errno of the first error
  bool needs_address = false;  ///< the last request is of no use without another setter
};

struct CompCntr : abi::CompCntr, ListHook<struct CompCntrTag> {
  explicit CompCntr(CompletionCounter::Type type) : abi::CompCntr{}, counter(type) {}

  HandleMark mark;
  Context* owner = nullptr;
  CompletionCounter counter;
  uint32_t uses =
      0;  ///< kinds of completions of queue pairs that it counts; under the device's lock
};

struct Qp : abi::VerbsQp, ListHook<struct QpTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  Lane* lane = nullptr;
  Progress* progress = nullptr;  ///< of the lane
  QueuePair* queue_pair = nullptr;
  Xrcd* xrcd = nullptr;  ///< of an XRC target
  Spinlock send_poster;
  SendBatch batch;  ///< under `send_poster`
  Spinlock recv_poster;

  std::atomic<uint32_t> async_events{0};

  // Under the device's lock.
  std::optional<SourcePort> source_port;     ///< of the primary path
  std::optional<SourcePort> alternate_port;  ///< of the alternate path
  uint32_t flows = 0;                        ///< steering rules that lead to it
  std::array<CompCntr*, CompletionCounters::kKinds> counters{};
  Qp* next_sharer = this;  ///< circular list of the handles of one XRC target
};

inline Td& td_of(ibv_td* td) {
  return *static_cast<Td*>(td);
}
inline Pd& pd_of(ibv_pd* pd) {
  return *static_cast<Pd*>(pd);
}
inline Mr& mr_of(abi::VerbsMr* mr) {
  return *static_cast<Mr*>(mr);
}
inline Dm& dm_of(ibv_dm* dm) {
  return *static_cast<Dm*>(dm);
}
inline Mw& mw_of(ibv_mw* mw) {
  return *static_cast<Mw*>(mw);
}
inline Ah& ah_of(ibv_ah* ah) {
  return *static_cast<Ah*>(ah);
}
inline Cq& cq_of(ibv_cq* cq) {
  return *static_cast<Cq*>(reinterpret_cast<abi::VerbsCq*>(cq));
}
inline Cq& cq_of(ibv_cq_ex* cq) {
  return *static_cast<Cq*>(reinterpret_cast<abi::VerbsCq*>(cq));
}
inline Qp& qp_of(ibv_qp* qp) {
  return *static_cast<Qp*>(reinterpret_cast<abi::VerbsQp*>(qp));
}
inline CompCntr& comp_cntr_of(abi::CompCntr* counter) {
  return *static_cast<CompCntr*>(counter);
}
inline Qp& qp_of(ibv_qp_ex* qp) {
  return *static_cast<Qp*>(reinterpret_cast<abi::VerbsQp*>(qp));
}

inline SteeringFlow& flow_of(ibv_flow* flow) {
  return *static_cast<SteeringFlow*>(flow);
}
inline Srq& srq_of(ibv_srq* srq) {
  return *static_cast<Srq*>(reinterpret_cast<abi::VerbsSrq*>(srq));
}
inline Xrcd& xrcd_of(ibv_xrcd* xrcd) {
  return *static_cast<Xrcd*>(reinterpret_cast<abi::VerbsXrcd*>(xrcd));
}

/// Makes the object one that check_handle() takes, with a number that no other of its kind has in
/// this process. The caller sets libibverbs' member to it.
template <class Object>
uint32_t admit(Object& object, uint32_t number = next_handle_number()) {
  object.mark.number = number;
  object.mark.live = true;
  return number;
}

/// Whether the handle, not null, is one of `owner` and passes check_handle().
template <class Handle>
bool is_handle_of(const Context& owner, Handle* handle) {
  return check_handle(handle) == 0 && handle->context == owner.handle;
}

}  // namespace urxe
