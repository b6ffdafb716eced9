// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/locks/spinlock.h"
#include "provider/runtime/memory/unmap_watch.h"
#include "provider/verbs/context.h"
#include "provider/verbs/handles.h"
#include "provider/verbs/private_abi.h"
#include "provider/verbs/qp_layout.h"
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

/// Device memory.
struct Dm : ibv_dm, ListHook<struct DmTag> {
  Dm() : ibv_dm{} {}

  HandleMark mark;
  Context* owner = nullptr;
  void* mapping = nullptr;
  size_t mapped_bytes = 0;
  uint8_t* bytes = nullptr;
  size_t length = 0;
  uint32_t regions = 0;  ///< registered; under the device's lock
};

struct Mr : abi::VerbsMr, ListHook<struct MrTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  MemoryRegion* region = nullptr;
  WatchedRange watched;
  Dm* device_memory = nullptr;  ///< null: a region of the application's memory
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
  Flow flow;
  /// A source port is claimed, and `flow`, which names it, does not change any more. This is so
  /// once the context has a UD queue pair; until then handles cost only memory.
  std::atomic<bool> ready{false};
};

struct Cq : abi::VerbsCq, ListHook<struct CqTag> {
  HandleMark mark;
  Context* owner = nullptr;
  Progress* progress = nullptr;
  CompletionQueue* queue = nullptr;
  Spinlock poller;
  std::atomic<bool> counted_as_armed{false};
  std::shared_ptr<EventSocket> channel;  ///< null: none
  DomainUse domain;                      ///< a parent domain, if it was made with one

  // Of the extended interface, from start_poll to end_poll; under `poller`.
  StampedCompletion current;
  bool shows_wallclock = false;
  int64_t wallclock_offset_ns = 0;  ///< from the timestamps' clock to CLOCK_REALTIME

  // Under the device's lock.
  uint32_t completion_events = 0;  ///< handed to the channel
  uint32_t async_events = 0;       ///< handed to the context's asynchronous events
};

/// A UDP source port held for a queue pair.
struct SourcePort {
  Gid local;
  uint16_t port = 0;
  uint16_t wanted = 0;  ///< what was asked for
};

struct Srq : abi::VerbsSrq, ListHook<struct SrqTag> {
  HandleMark mark;
  Context* owner = nullptr;
  Progress* progress = nullptr;
  DomainUse domain;
  SharedReceiveQueue* queue = nullptr;
  Spinlock poster;

  // Under the device's lock.
  uint32_t async_events = 0;
};

struct Xrcd : abi::VerbsXrcd, ListHook<struct XrcdTag> {
  HandleMark mark;
  Context* owner = nullptr;
  XrcDomain* domain = nullptr;
  uint32_t users = 0;  ///< shared receive queues and target handles; under the device's lock
};

/// The requests that were built since ibv_wr_start().
struct SendBatch {
  uint32_t end = 0;            ///< position after the last request begun
  int wrong = 0;               ///< errno of the first error
  bool needs_address = false;  ///< the last request is of no use without another setter
};

struct Qp : abi::VerbsQp, ListHook<struct QpTag> {
  HandleMark mark;
  Context* owner = nullptr;
  DomainUse domain;
  Progress* progress = nullptr;
  QueuePair* queue_pair = nullptr;
  Xrcd* xrcd = nullptr;  ///< of an XRC target
  Spinlock send_poster;
  SendBatch batch;  ///< under `send_poster`
  Spinlock recv_poster;

  // Under the device's lock.
  std::optional<SourcePort> source_port;     ///< of the primary path
  std::optional<SourcePort> alternate_port;  ///< of the alternate path
  uint32_t async_events = 0;
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
inline Qp& qp_of(ibv_qp_ex* qp) {
  return *static_cast<Qp*>(reinterpret_cast<abi::VerbsQp*>(qp));
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

/// Takes the events of all devices. `user` of a queue is its Cq, Srq or Qp.
extern const EventSink kVerbsEventSink;

// The verbs, each in the file named after its object. Those that return a pointer set errno.
int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attr, size_t attr_size) noexcept;
int query_port(ibv_context* context, uint8_t port, ibv_port_attr* attr) noexcept;

ibv_pd* alloc_pd(ibv_context* context) noexcept;
int dealloc_pd(ibv_pd* pd) noexcept;
/// Whether two handles are of one protection domain.
bool same_domain(ibv_pd* a, ibv_pd* b);
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* init) noexcept;
int dealloc_td(ibv_td* td) noexcept;
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* init) noexcept;

ibv_ah* create_ah(ibv_pd* pd, ibv_ah_attr* attr) noexcept;
int destroy_ah(ibv_ah* ah) noexcept;
/// Claims the source port that the address handle needs to send. 0, or an errno and a line on
/// stderr. With the device's lock held, after its start.
int prepare(Ah& ah);
/// Makes the request a datagram. EINVAL: the address handle is of another protection domain
/// (IBTA vol. 1, 10.2.2.1), or has no source port because prepare() failed.
int set_datagram(const Qp& qp, SendWqe& wqe, const ibv_ah* ah, uint32_t remote_qpn,
                 uint32_t remote_qkey);

ibv_mr* reg_mr(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) noexcept;
ibv_mr* reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                      int access) noexcept;
int rereg_mr(abi::VerbsMr* mr, int flags, ibv_pd* pd, void* addr, size_t length,
             int access) noexcept;
int dereg_mr(abi::VerbsMr* mr) noexcept;
ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept;
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, uint32_t flags, ibv_sge* list,
              uint32_t count) noexcept;

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept;
int free_dm(ibv_dm* dm) noexcept;
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, uint64_t offset, size_t length, unsigned access) noexcept;

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept;
int dealloc_mw(ibv_mw* mw) noexcept;
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) noexcept;
bool bind_info_is_valid(const ibv_mw_bind_info& info);
/// The request to bind `mw` as `info` says; the window has `new_key` afterwards.
BindRequest bind_request(const Mw& mw, RKey new_key, const ibv_mw_bind_info& info);

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                  int comp_vector) noexcept;
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) noexcept;
/// Sets the functions of the extended polling interface.
void set_extended_operations(ibv_cq_ex& cq);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept;
int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept;
int resize_cq(ibv_cq* cq, int cqe) noexcept;
int destroy_cq(ibv_cq* cq) noexcept;
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) noexcept;
int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept;

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init) noexcept;
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init) noexcept;
int modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) noexcept;
int query_srq(ibv_srq* srq, ibv_srq_attr* attr) noexcept;
int get_srq_num(ibv_srq* srq, uint32_t* number) noexcept;
int destroy_srq(ibv_srq* srq) noexcept;
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) noexcept;
int close_xrcd(ibv_xrcd* xrcd) noexcept;
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) noexcept;

ibv_qp* create_qp(ibv_pd* pd, ibv_qp_init_attr* init) noexcept;
ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* init) noexcept;
/// Whether queue pairs of that type have all these (ibv_qp_create_send_ops_flags), in a library
/// with that layout; else EOPNOTSUPP.
int check_send_operations(ibv_qp_type type, uint64_t flags, const QpLayout& layout);
/// Bytes of inline data that an element needs for these operations.
uint32_t inline_bytes_for(uint64_t send_operations);
/// Sets the builders of these operations (ibv_wr_post(3)).
void set_send_operations(Qp& qp, uint64_t flags, const QpLayout& layout);
int modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) noexcept;
int query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) noexcept;
int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attr) noexcept;
int destroy_qp(ibv_qp* qp) noexcept;
int attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) noexcept;
int detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t lid) noexcept;
int set_ece(ibv_qp* qp, ibv_ece* ece) noexcept;
int query_ece(ibv_qp* qp, ibv_ece* ece) noexcept;
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept;
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept;
/// Tells the device that something was posted.
void ring(Qp& qp);

// End an object: all but freeing its handle. Closing a context calls these for the objects that are
// left. With the device's lock held.
void end_qp(Qp& qp);
int end_srq(Srq& srq);
void end_xrcd(Xrcd& xrcd);
/// Detaches it from its multicast groups.
void leave_groups(Qp& qp);
[[nodiscard]] bool is_in_group(const Qp& qp);
int end_cq(Cq& cq);
void end_ah(Ah& ah);
void end_mw(Mw& mw);
void end_mr(Mr& mr);
void end_dm(Dm& dm);
void end_pd(Pd& pd);

}  // namespace urxe
